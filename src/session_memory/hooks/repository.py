"""Find the name that the store has for the repository that an agent works in."""

from session_memory.store.quick_reading import QuickReader
from session_memory.store.stored_fixes import known_repository
from session_memory.views.checkout import light_names, root_of


def all_names(directory: str) -> list[str]:
    """Return the names that sessions may have for the repository of ``directory``.

    This takes longer to load than `light_names`, and also finds worktrees and renamed checkouts.
    """
    from session_memory.views.current_repository import CurrentRepository

    return CurrentRepository(directory).names


def stored_repository(reader: QuickReader, directory: str) -> str | None:
    """The name of the repository of ``directory`` if the store has sessions of it."""
    if root_of(directory) is None:
        return None
    found = known_repository(reader, light_names(directory))
    return found or known_repository(reader, all_names(directory))
