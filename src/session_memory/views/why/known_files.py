"""Decide which files of this machine the web page may show if a URL has their path."""

from pathlib import Path

from session_memory.core.errors import NoSuchLine
from session_memory.store import Store
from session_memory.views.current_repository import CurrentRepository
from session_memory.views.why.logged_edits import LoggedEdits

LARGEST = 2 << 20
_HINT = "Open a file from the changes of a session."


def known_file(store: Store, path: str) -> Path:
    """Return the file at ``path`` if a session changed it in a git checkout that still exists.

    Raises `NoSuchLine` for any other path. Links are followed first, so that none leads out of the
    checkout.
    """
    if not path.startswith("/") or not path.isprintable():
        raise NoSuchLine("the path is not that of a file", _HINT)
    try:
        place = Path(path).resolve(strict=True)
        is_small_file = place.is_file() and place.stat().st_size <= LARGEST
    except OSError:
        raise NoSuchLine("there is no such file on this machine", _HINT) from None
    repository = CurrentRepository(place.parent)
    if repository.root is None or not is_small_file:
        raise NoSuchLine("the file is in no git checkout, or too large", _HINT)
    inside = place.relative_to(repository.root)
    if ".git" in inside.parts or not LoggedEdits(store, repository).of_file(str(inside)):
        raise NoSuchLine("no session in this store changed the file", _HINT)
    return place
