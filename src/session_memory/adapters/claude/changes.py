"""Read the changes to files that Claude Code logs with a call's result: a patch with line numbers,
and the file before the change."""

from collections.abc import Iterator, Mapping
from typing import Any

from session_memory.core.changes import Change, with_counts
from session_memory.core.patches import compared


def changes_noted(record: Any) -> list[Change]:
    """Return the change in the record of a result, as a list of one; an empty list if the record
    has none."""
    match record:
        case {"toolUseResult": {"filePath": str(path)} as result}:
            return [_change(path, result)]
    return []


def _change(path: str, result: Mapping[str, Any]) -> Change:
    before = result.get("originalFile", result.get("originalFileContents"))
    content = result.get("content")
    is_new = result.get("type") == "create"
    lines = tuple(_structured(result.get("structuredPatch")))
    is_numbered = bool(lines)
    if is_new and isinstance(content, str):
        lines, is_numbered = compared("", content, numbered=True), True
    return with_counts(
        Change(
            path=path,
            action="create" if is_new else "write" if isinstance(content, str) else "edit",
            lines=lines,
            is_numbered=is_numbered,
            before=before if isinstance(before, str) else "" if is_new else None,
            content=content if isinstance(content, str) else None,
        )
    )


def _structured(patch: Any) -> Iterator[str]:
    for hunk in patch if isinstance(patch, list) else ():
        match hunk:
            case {"oldStart": int(a), "oldLines": int(b), "newStart": int(c), "newLines": int(d)}:
                yield f"@@ -{a},{b} +{c},{d} @@"
                lines = hunk.get("lines")
                for line in lines if isinstance(lines, list) else ():
                    yield str(line)
