"""Read the changes to files that Grok logs: the text before and after each change."""

from collections.abc import Iterator
from typing import Any

from session_memory.core.changes import Change, with_counts
from session_memory.core.patches import compared


def changes_noted(record: Any) -> list[Change]:
    """Return the changes in an update of a call; an empty list if the update has none."""
    match record:
        case {"params": {"update": {"content": [*items]}}}:
            return [change for item in items for change in _changes(item)]
    return []


def _changes(item: Any) -> Iterator[Change]:
    match item:
        case {"type": "diff", "path": str(path), "newText": str(new)}:
            old = item.get("oldText")
            lines = compared(old if isinstance(old, str) else "", new)
            yield with_counts(Change(path=path, action="edit", lines=lines))
