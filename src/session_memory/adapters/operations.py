"""Convert a tool call of any agent into operations that every agent has a tool for, such as
running a command.

Agents use similar arguments under different names; this module knows all of the names, as
`session_memory.adapters.edits` does.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from session_memory.adapters.detectors.calls import shell_text
from session_memory.core.changes import Change
from session_memory.core.handing import FileContent, FileEdit, FileRead, Operation, RunCommand
from session_memory.core.patches import hunks

_READS = frozenset({"read", "read_file", "view", "readfile"})
_GREPS = frozenset({"grep", "grep_search", "search_file_content", "rg", "grep_files"})
_GLOBS = frozenset({"glob", "find", "file_search", "find_files"})
_LISTS = frozenset({"ls", "list", "list_dir", "list_directory"})
_PATHS = ("file_path", "filePath", "path", "target_file", "absolute_path", "dir_path")
_PLACES = (*_PATHS, "directory", "target_directory")
_FIRST = ("offset", "start_line", "startLine")
_COUNT = ("limit", "lines")
_LAST = ("end_line", "endLine")
_FILES = ("glob", "include", "file_pattern")
_ANY_CASE = ("-i", "ignoreCase", "ignore_case", "case_insensitive")


def operations_of(tool: str, arguments: Any, changes: list[Change]) -> list[Operation]:
    """Return the operations of a call, in order; none if other agents have no tool for it.

    ``changes`` are the changes to files that the call asks for.
    """
    if (command := shell_text(tool, arguments)) is not None and not changes:
        return [RunCommand(command)]
    if changes:
        return [operation for change in changes for operation in _changing(change)]
    if isinstance(arguments, Mapping):
        return [found] if (found := _looking(tool.lower(), arguments)) is not None else []
    return []


def _changing(change: Change) -> Iterator[Operation]:
    path = change.path
    if change.content is not None:
        yield FileContent(path, change.content)
    elif change.action == "delete":
        yield RunCommand(f"rm {shlex.quote(path)}")
    elif change.replacements:
        for one in change.replacements:
            yield FileEdit(path, one.old, one.new, one.everywhere)
    else:
        for old, new in hunks(change.lines):
            yield FileEdit(path, old, new)
    if change.moved_to:
        yield RunCommand(f"mv {shlex.quote(path)} {shlex.quote(change.moved_to)}")


def _looking(tool: str, arguments: Mapping[str, Any]) -> Operation | None:
    if tool in _READS and (path := _text(arguments, _PATHS)):
        return _reading(path, arguments)
    pattern = _text(arguments, ("pattern", "query", "regex"))
    place = _text(arguments, _PLACES)
    where = [place] if place else []
    if tool in _GREPS and pattern:
        words = ["rg", "-n"]
        words += ["-i"] if any(arguments.get(name) is True for name in _ANY_CASE) else []
        if files := _text(arguments, _FILES):
            words += ["-g", files]
        return RunCommand(shlex.join([*words, "-e", pattern, *where]))
    if tool in _GLOBS and pattern:
        return RunCommand(shlex.join(["rg", "--files", "-g", pattern, *where]))
    if tool in _LISTS:
        return RunCommand(shlex.join(["ls", "-la", *where]))
    return None


def _reading(path: str, arguments: Mapping[str, Any]) -> FileRead:
    match arguments.get("view_range"):
        case [int(start), int(end)]:
            return FileRead(path, start, end - start + 1 if end >= start else None)
    first, count, last = (_number(arguments, names) for names in (_FIRST, _COUNT, _LAST))
    if count is None and last is not None:
        count = last - (first or 1) + 1
    return FileRead(path, first, count if count is not None and count > 0 else None)


def _text(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    found = (arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), None)


def _number(arguments: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    found = (arguments.get(name) for name in names)
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool)), None)
