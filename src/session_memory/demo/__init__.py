"""The bundled demo: a small home directory with invented Claude Code sessions.

The files are data, made by ``tools/make_demo.py`` and only ever read.
"""

from importlib import resources
from pathlib import Path


def demo_home() -> Path:
    """The directory to look at as if it were ``HOME``."""
    home = resources.files(__name__) / "home"
    if not isinstance(home, Path):
        raise FileNotFoundError(f"the demo is not a directory on disk: {home}")
    return home
