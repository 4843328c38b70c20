"""What one tool call changed in a file. Values only: adapters create them, views show them."""

import msgspec

from session_memory.core.patches import counted


class Replacement(msgspec.Struct, frozen=True):
    """A text that replaces another one: its first occurrence, or all with ``everywhere``."""

    old: str
    new: str
    everywhere: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One file that one call changed.

    - ``action``: ``edit``, ``write`` (the whole file, whatever it held), ``create``, ``delete``, or
      ``command`` (a shell command changed it, and no log says how).
    - ``lines``: the body of a diff, without its headers. ``is_numbered`` means that its hunks have
      line numbers.
    - ``before``: the whole file before the change, where the agent logged it.
    """

    path: str
    action: str
    lines: tuple[str, ...] = ()
    is_numbered: bool = False
    moved_to: str | None = None
    before: str | None = None
    content: str | None = None
    replacements: tuple[Replacement, ...] = ()
    added: int = 0
    removed: int = 0


def with_counts(change: Change) -> Change:
    """The same change with the number of lines that its diff adds and removes."""
    added, removed = counted(change.lines)
    return msgspec.structs.replace(change, added=added, removed=removed)
