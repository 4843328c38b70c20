"""What one call changed in files, read from its arguments and from what the agent noted of it.

Arguments say what was asked for: excerpts, without the file around them. The result may hold more:
line numbers, and the file as it was.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from session_memory.views.patches import added_text, compared, counted, patched_files

_PATHS = ("file_path", "path", "filePath", "target_file", "notebook_path", "file")
_OLD = ("old_string", "old_str", "oldString", "old_text", "oldText")
_NEW = ("new_string", "new_str", "newString", "new_text", "newText", "new_source")
_CONTENT = ("content", "contents", "file_text")
_PATCH = ("input", "patch", "patchText", "patch_text", "command", "cmd", "code")
MOST_EDITS = 1000


class Replacement(msgspec.Struct, frozen=True):
    old: str
    new: str
    everywhere: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One file that one call changed.

    ``action`` is ``edit``, ``write`` (whole, over whatever was there), ``create``, ``delete`` or
    ``command`` (by a shell, in a way no log tells). ``lines`` are a diff's, headers left out;
    ``is_numbered`` when they tell where in the file they are. ``before`` is the whole file as it
    was, where the agent noted that.
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


def changes_asked(arguments: Any, text: str = "", path: str | None = None) -> list[Change]:
    """The changes a call asks for; ``text`` is the call as text, ``path`` its file, if known."""
    if isinstance(arguments, Mapping):
        if found := _edit(arguments, path):
            return [found]
        text = _first(arguments, _PATCH) or _words(arguments) or text
    elif isinstance(arguments, str):
        text = arguments
    return [
        _counted(
            Change(
                path=file.path,
                action=file.action,
                lines=file.lines,
                moved_to=file.moved_to,
                content=added_text(file.lines) if file.action == "create" else None,
            )
        )
        for file in patched_files(text)
    ]


def changes_noted(record: Any) -> list[Change]:
    """The changes as the agent's record of the result has them, exact where it says so."""
    match record:
        case {"toolUseResult": {"filePath": str(path)} as told}:
            return [_noted_by_claude(path, told)]
        case {"params": {"update": {"content": [*items]}}}:
            return [change for item in items for change in _noted_by_grok(item)]
    return []


def _edit(arguments: Mapping[str, Any], known: str | None) -> Change | None:
    path = _first(arguments, _PATHS) or known
    if path is None:
        return None
    content = _first(arguments, _CONTENT, empty=True)
    if replacements := tuple(_replacements(arguments)):
        lines = tuple(line for one in replacements for line in _excerpt(one))
        lines = lines[1:] if lines[:1] == ("@@",) else lines
        change = Change(path=path, action="edit", lines=lines, replacements=replacements)
        return _counted(change)
    if content is not None:
        return _counted(
            Change(path=path, action="write", lines=compared("", content), content=content)
        )
    return None


def _replacements(arguments: Mapping[str, Any]) -> Iterator[Replacement]:
    edits = arguments.get("edits")
    if isinstance(edits, list):
        for edit in edits[:MOST_EDITS]:
            if isinstance(edit, Mapping):
                yield from _replacements({k: v for k, v in edit.items() if k != "edits"})
        return
    new = _first(arguments, _NEW, empty=True)
    if new is not None:
        old = _first(arguments, _OLD, empty=True) or ""
        everywhere = arguments.get("replace_all", arguments.get("replaceAll")) is True
        yield Replacement(old, new, everywhere)


def _excerpt(one: Replacement) -> tuple[str, ...]:
    lines = compared(one.old, one.new)
    return lines if lines[:1] == ("@@",) else ("@@", *lines)


def _noted_by_claude(path: str, told: Mapping[str, Any]) -> Change:
    before = told.get("originalFile", told.get("originalFileContents"))
    content = told.get("content")
    is_new = told.get("type") == "create"
    lines = tuple(_structured(told.get("structuredPatch")))
    is_numbered = bool(lines)
    if is_new and isinstance(content, str):
        lines, is_numbered = compared("", content, numbered=True), True
    return _counted(
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


def _noted_by_grok(item: Any) -> Iterator[Change]:
    match item:
        case {"type": "diff", "path": str(path), "newText": str(new)}:
            old = item.get("oldText")
            lines = compared(old if isinstance(old, str) else "", new)
            yield _counted(Change(path=path, action="edit", lines=lines))


def _counted(change: Change) -> Change:
    added, removed = counted(change.lines)
    return msgspec.structs.replace(change, added=added, removed=removed)


def _first(
    arguments: Mapping[str, Any], names: tuple[str, ...], *, empty: bool = False
) -> str | None:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and (value or empty):
            return value
    return None


def _words(arguments: Mapping[str, Any]) -> str:
    """A command given as a list of words: a patch is one of them."""
    for name in ("command", "cmd"):
        words = arguments.get(name)
        if isinstance(words, list):
            return "\n".join(str(word) for word in words)
    return ""
