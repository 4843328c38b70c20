"""The demo sessions that come with the package: two small home directories with invented logs.

One has the logs of Claude Code, the other those of other agents. Its directory ``code`` has two
repositories, for agents that keep their log in the repository. The files are made by
``tools/make_demo.py``. The program only reads them.
"""

from importlib import resources
from pathlib import Path


def demo_roots() -> tuple[Path, ...]:
    """Return the directories to collect logs from: the two homes, and the repositories.

    The repositories are returned too, because a sync could not find them by itself: Crush lists
    them by absolute paths, which a package cannot know, and aider lists them nowhere.
    """
    agents = _directory("agents")
    return demo_home(), agents, *sorted((agents / "code").iterdir())


def demo_home() -> Path:
    """Return the home directory with the logs of Claude Code."""
    return _directory("home")


def _directory(name: str) -> Path:
    home = resources.files(__name__) / name
    if not isinstance(home, Path):
        raise FileNotFoundError(f"the demo is not a directory on disk: {home}")
    return home
