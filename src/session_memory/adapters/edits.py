"""Read from the arguments of a tool call which changes to files it asks for.

Agents use similar arguments under different names; this module knows the names of all built-in
agents. Most arguments hold only the lines that change, without the rest of the file. The result of
a call may say more; ``Agent.changes_noted`` reads the result.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from session_memory.core.changes import Change, Replacement, with_counts
from session_memory.core.patches import added_text, compared, patched_files

_PATHS = ("file_path", "path", "filePath", "target_file", "notebook_path", "file")
_OLD = ("old_string", "old_str", "oldString", "old_text", "oldText")
_NEW = ("new_string", "new_str", "newString", "new_text", "newText", "new_source")
_CONTENT = ("content", "contents", "file_text")
_DIFF = ("diff",)
_PATCH = ("input", "patch", "patchText", "patch_text", "command", "cmd", "code")
MOST_EDITS = 1000


def changes_asked(arguments: Any, text: str = "", path: str | None = None) -> list[Change]:
    """Return the changes to files that a call asks for.

    ``text`` is the call as a text, and ``path`` the file that it changes. Each of them is used if
    ``arguments`` do not have it.
    """
    if isinstance(arguments, Mapping):
        if found := _edit(arguments, path):
            return [found]
        text = _first(arguments, _PATCH) or _words(arguments) or text
    elif isinstance(arguments, str):
        text = arguments
    return [
        with_counts(
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


def _edit(arguments: Mapping[str, Any], known: str | None) -> Change | None:
    path = _first(arguments, _PATHS) or known
    if path is None:
        return None
    content = _first(arguments, _CONTENT, empty=True)
    if replacements := tuple(_replacements(arguments)):
        lines = tuple(line for one in replacements for line in _excerpt(one))
        lines = lines[1:] if lines[:1] == ("@@",) else lines
        change = Change(path=path, action="edit", lines=lines, replacements=replacements)
        return with_counts(change)
    if diff := _first(arguments, _DIFF):
        # Some agents log the change as a diff, without saying how they made the change.
        return with_counts(Change(path=path, action="edit", lines=_diff_lines(diff)))
    if content is not None:
        return with_counts(
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


def _diff_lines(diff: str) -> tuple[str, ...]:
    """Return the lines of a diff that begin with ``@@``, ``+``, ``-`` or a blank. Lines that begin
    with ``+++`` or ``---`` and a blank are left out as headers."""
    return tuple(
        line
        for line in diff.splitlines()
        if line.startswith(("@@", "+", "-", " ")) and not line.startswith(("+++ ", "--- "))
    )


def _excerpt(one: Replacement) -> tuple[str, ...]:
    lines = compared(one.old, one.new)
    return lines if lines[:1] == ("@@",) else ("@@", *lines)


def _first(
    arguments: Mapping[str, Any], names: tuple[str, ...], *, empty: bool = False
) -> str | None:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and (value or empty):
            return value
    return None


def _words(arguments: Mapping[str, Any]) -> str:
    """Return a command that is logged as a list of words, with each word on its own line, because
    one of the words may be a patch; "" if there is no such list."""
    for name in ("command", "cmd"):
        words = arguments.get(name)
        if isinstance(words, list):
            return "\n".join(str(word) for word in words)
    return ""
