"""The bundled demo: small home directories with invented sessions, one with those of Claude Code,
one with those of other agents.

The files are data, made by ``tools/make_demo.py`` and only ever read.
"""

from importlib import resources
from pathlib import Path


def demo_homes() -> tuple[Path, Path]:
    """The directories to look at as if each were ``HOME``."""
    return demo_home(), _directory("agents")


def demo_home() -> Path:
    """The home with the sessions of Claude Code."""
    return _directory("home")


def _directory(name: str) -> Path:
    home = resources.files(__name__) / name
    if not isinstance(home, Path):
        raise FileNotFoundError(f"the demo is not a directory on disk: {home}")
    return home
