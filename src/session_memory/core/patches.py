"""Compare two texts, and parse and apply patches.

A diff is a list of lines that start with ``+``, ``-``, a blank or ``@@``. The texts come from logs
and may be hostile, so every function here has bounded cost.
"""

import json
from collections.abc import Iterable, Iterator

import msgspec

from session_memory.core.lazy_patterns import lazy_pattern

CONTEXT = 3
# Comparing can take quadratic time. If the number of old lines times the number of new lines is
# larger than this, lines that occur once divide the texts, and the parts are compared.
MOST_COMPARED = 4_000_000
MOST_PATCHES = 200
UNENDED = "\\ No newline at end of file"
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILE = lazy_pattern(r"\*\*\* (Update|Add|Delete) File: (.*)")
_MOVE = "*** Move to: "
_FINAL = "*** End of File"
_NUMBERS = lazy_pattern(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


class PatchedFile(msgspec.Struct, frozen=True):
    """One file of a patch: ``action`` is ``edit``, ``create`` or ``delete``."""

    path: str
    action: str
    lines: tuple[str, ...] = ()
    moved_to: str | None = None


def compared(old: str, new: str, *, numbered: bool = False) -> tuple[str, ...]:
    """The hunks that turn ``old`` into ``new``.

    With ``numbered`` both are whole files: hunks have line numbers, and a missing line end at the
    end of a file is marked. Without ``numbered`` both are excerpts: hunks have no line numbers, and
    line ends do not matter.
    """
    if numbered:
        return tuple(_marked(_hunks_between(_ended_lines(old), _ended_lines(new))))
    lines = _hunks_between(_bare_lines(old), _bare_lines(new))
    lines = [_NUMBERS.sub("@@", line) if line.startswith("@@") else line for line in lines]
    # A single hunk of an excerpt needs no ``@@``.
    return tuple(lines[1:] if lines[:1] == ["@@"] else lines)


def _hunks_between(before: list[str], after: list[str]) -> list[str]:
    if len(before) * len(after) > MOST_COMPARED:
        from session_memory.core.large_diffs import large_hunks  # noqa: PLC0415

        return large_hunks(before, after, most=MOST_COMPARED, context=CONTEXT)
    from difflib import unified_diff  # noqa: PLC0415

    return list(unified_diff(before, after, n=CONTEXT, lineterm=""))[2:]


def _bare_lines(text: str) -> list[str]:
    lines = text.split("\n")
    kept = lines if lines[-1] else lines[:-1]
    return [line.removesuffix("\r") for line in kept]


def _ended_lines(text: str) -> list[str]:
    """The lines of a text, each with its line feed. The last line may have none."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _marked(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n") or line.startswith("@@"):
            yield line.removesuffix("\n")
        else:
            yield from (line, UNENDED)


def counted(lines: Iterable[str]) -> tuple[int, int]:
    """How many lines a diff adds and removes."""
    added = removed = 0
    for line in lines:
        added += line.startswith("+")
        removed += line.startswith("-")
    return added, removed


def patched_files(text: str) -> list[PatchedFile]:
    """The files of every ``*** Begin Patch`` in a text, such as an argument or a script."""
    files: list[PatchedFile] = []
    for place, segment in enumerate(_segments(text)):
        if place >= MOST_PATCHES:
            break
        files += _files(segment)
    return files


def _segments(text: str) -> Iterator[str]:
    place = 0
    while (start := text.find(_BEGIN, place)) >= 0:
        end = text.find(_END, start)
        place = len(text) if end < 0 else end + len(_END)
        yield _unescaped(text[start:place])


def _unescaped(segment: str) -> str:
    """The patch with real line ends. A patch in a script may have ``\\n`` in place of each line
    end."""
    if "\n" in segment or "\\n" not in segment:
        return segment
    try:
        return str(json.loads(f'"{segment}"'))
    except ValueError:
        return segment.replace("\\n", "\n")


def _files(segment: str) -> Iterator[PatchedFile]:
    path, action, moved = "", "", None
    lines: list[str] = []
    actions = {"Update": "edit", "Add": "create", "Delete": "delete"}
    for line in segment.split("\n")[1:]:
        line = line.removesuffix("\r")
        if line.startswith((_END, _FINAL)):
            continue
        if header := _FILE.fullmatch(line):
            if action:
                yield PatchedFile(path, action, tuple(lines), moved)
            path, action, moved, lines = header[2].strip(), actions[header[1]], None, []
        elif line.startswith(_MOVE):
            moved = line[len(_MOVE) :].strip()
        elif action:
            lines.append(line if line.startswith(("@@", "+", "-", " ")) else f" {line}")
    if action:
        yield PatchedFile(path, action, tuple(_without_blank_end(lines)), moved)


def _without_blank_end(lines: list[str]) -> list[str]:
    return lines[:-1] if lines and not lines[-1].strip(" ") else lines


def applied(text: str, lines: Iterable[str]) -> str | None:
    """``text`` with the hunks of a patch applied, or None if a hunk does not fit."""
    place = 0
    for old, new in hunks(lines):
        found = text.find(old, place) if old else len(text)
        if found < 0 and old.endswith("\n"):
            # The last line of a file may have no line feed.
            old, new = old[:-1], new.removesuffix("\n")
            found = text.find(old, place)
        if found < 0:
            return None
        text = f"{text[:found]}{new}{text[found + len(old) :]}"
        place = found + len(new)
    return text


def hunks(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The old and the new text of each hunk of a diff."""
    old: list[str] = []
    new: list[str] = []
    before = " "
    for line in lines:
        if line.startswith("@@"):
            if old or new:
                yield "".join(old), "".join(new)
            old, new = [], []
        elif line == UNENDED:
            for side, sign in ((old, "+"), (new, "-")):
                if side and before != sign:
                    side[-1] = side[-1].removesuffix("\n")
        else:
            if not line.startswith("+"):
                old.append(f"{line[1:]}\n")
            if not line.startswith("-"):
                new.append(f"{line[1:]}\n")
            before = line[:1]
    if old or new:
        yield "".join(old), "".join(new)


def _block(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def added_text(lines: Iterable[str]) -> str:
    """The contents of a file that a patch creates."""
    return _block([line[1:] for line in lines if line.startswith("+")])
