"""Paths as a session's reader knows them."""

from pathlib import PurePosixPath


def path_from(path: str, cwd: str | None) -> str:
    """``path`` as seen from the directory the session worked in; unchanged if it is not below."""
    if not cwd or not path.startswith("/"):
        return path
    try:
        return str(PurePosixPath(path).relative_to(cwd))
    except ValueError:
        return path
