"""What one tool call changed in a file: values that adapters create and views show."""

import msgspec

from session_memory.core.patches import counted


class Replacement(msgspec.Struct, frozen=True):
    """Replace the first occurrence of ``old`` with ``new``; all occurrences if ``everywhere``."""

    old: str
    new: str
    everywhere: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one file by one tool call.

    - ``action``: ``edit``, ``write`` (the whole file, whatever it held), ``create``, ``delete``, or
      ``command`` (a shell command changed it, and no log says how).
    - ``lines``: the body of a diff, without its headers. ``is_numbered`` means that its hunks have
      line numbers.
    - ``before`` and ``content``: the whole file before and after the change, if they are logged.
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
    """Return ``change`` with ``added`` and ``removed`` counted from the lines of its diff."""
    added, removed = counted(change.lines)
    return msgspec.structs.replace(change, added=added, removed=removed)
