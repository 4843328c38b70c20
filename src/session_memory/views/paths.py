"""Shorten paths: those below the directory of a session become relative to it."""

from pathlib import PurePosixPath


def path_from(path: str, cwd: str | None) -> str:
    """Return ``path`` relative to ``cwd``, the session's directory; unchanged if not below it."""
    if not cwd or not path.startswith("/"):
        return path
    try:
        return str(PurePosixPath(path).relative_to(cwd))
    except ValueError:
        return path
