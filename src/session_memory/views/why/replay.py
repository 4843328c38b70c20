"""Replay the edits in the logs on a file, and note for each line the edit that introduced it.

Only texts are compared; neither the store nor git is asked. Some changes are not in the logs, such
as those by a person or a formatter. After such a change, the lines of the next edits are known, but
not their place in the file.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import msgspec

from session_memory.core.changes import Change
from session_memory.core.patches import hunks
from session_memory.views.why.line_text import RareLines, squeezed

# Comparing takes quadratic time at worst.
_MOST_COMPARED = 25_000_000


class LoggedEdit(msgspec.Struct, frozen=True):
    """One change to one file by a call that succeeded. ``is_command``: a shell command made the
    change; the logs show the command, not what it really wrote."""

    session_uid: str
    event_uid: str
    seq: int
    ts: int
    path: str
    change: Change
    is_command: bool = False


class PlacedLine(msgspec.Struct, frozen=True):
    """A line of the replayed file. ``edit`` is None if no logged edit introduced the line."""

    text: str
    edit: LoggedEdit | None


class Replay:
    """A file after all edits that were applied so far. ``lines`` is None if they are unknown."""

    def __init__(self, before: Sequence[str] | None = None) -> None:
        self.lines: list[PlacedLine] | None = None
        self.introduced: list[PlacedLine] = []
        """Every line that an edit introduced, in order, even if a later edit removed it."""
        self._authors: dict[str, set[str | None]] = defaultdict(set)
        self._blind: set[str] = set()
        self._kept_text: str | None = None
        if before is not None:
            self.lines = self._of_nobody(before)

    def is_doubtful(self, text: str, edit: LoggedEdit) -> bool:
        """Whether somebody else may have written this line before, although the edit has it.

        For example, an edit wrote the whole file, and the file may have had this line before."""
        is_shared = len(self._authors[squeezed(text)]) > 1
        return is_shared or edit.is_command or edit.event_uid in self._blind

    def apply(self, edit: LoggedEdit) -> None:
        change = edit.change
        if change.action == "delete":
            self._set([])
        elif change.content is not None:
            self._write(change.content.splitlines(), edit)
        else:
            for old, new, everywhere in _replaced(change):
                self._replace(old, new, everywhere, edit)

    def _write(self, content: list[str], edit: LoggedEdit) -> None:
        change = edit.change
        if change.before is not None:
            self._meet(change.before.splitlines())
        elif change.action != "create":
            self._blind.add(edit.event_uid)
        self._set(self._merged(self.lines or [], content, edit))

    def _meet(self, found: list[str]) -> None:
        """Take over the file as the agent found it. New lines in it have an unknown author."""
        before = self.lines or []
        rare = RareLines(found)
        aligned = _aligned([one.text for one in before], found, rare)
        self._set(
            [
                before[place] if is_same else self._of_nobody([text])[0]
                for is_same, place, text in aligned
            ]
        )

    def _of_nobody(self, texts: Sequence[str]) -> list[PlacedLine]:
        for text in texts:
            self._authors[squeezed(text)].add(None)
        return [PlacedLine(text, None) for text in texts]

    def _replace(self, old: str, new: str, everywhere: bool, edit: LoggedEdit) -> None:
        places = [] if self.lines is None else _places(self._text, old)
        if self.lines is None or not places or (len(places) > 1 and not everywhere):
            # The place of this edit is unknown. The lines that it adds are noted all the same.
            self._merged([PlacedLine(text, None) for text in _split(old)], _split(new), edit)
            return
        # Texts are replaced from the end on, so that earlier places stay where they are.
        for begin, end in reversed(places):
            self._replace_at(begin, end, new, edit)

    def _replace_at(self, begin: int, end: int, new: str, edit: LoggedEdit) -> None:
        assert self.lines is not None
        text = self._text
        start = text.rfind("\n", 0, begin) + 1
        # A line feed at the end of the replaced text belongs to its last line.
        stop = text.index("\n", max(end - 1, begin)) + 1
        if text[end - 1 : end] != "\n":
            stop = text.index("\n", end) + 1
        first = text.count("\n", 0, start)
        last = first + text.count("\n", start, stop)
        after = _split(f"{text[start:begin]}{new}{text[end:stop]}")
        self.lines[first:last] = self._merged(self.lines[first:last], after, edit)
        self._kept_text = "".join((text[:start], *(f"{line}\n" for line in after), text[stop:]))

    @property
    def _text(self) -> str:
        """The lines as one text. It is cached, because a long file may have many edits."""
        if self._kept_text is None:
            self._kept_text = "".join([f"{one.text}\n" for one in self.lines or ()])
        return self._kept_text

    def _set(self, lines: list[PlacedLine]) -> None:
        self.lines, self._kept_text = lines, None

    def _merged(
        self, before: list[PlacedLine], after: list[str], edit: LoggedEdit
    ) -> list[PlacedLine]:
        """Return the lines ``after`` an edit. Lines that were there ``before`` keep their edit."""
        merged: list[PlacedLine] = []
        rare = RareLines(one.text for one in self.lines or before)
        for is_same, place, text in _aligned([one.text for one in before], after, rare):
            if is_same:
                merged.append(PlacedLine(text, before[place].edit))
            else:
                merged.append(PlacedLine(text, edit))
                self.introduced.append(merged[-1])
                self._authors[squeezed(text)].add(edit.session_uid)
        return merged


def places_in(replay: Replay, now: Sequence[str]) -> list[int | None]:
    """Return for each line of the file as it is now its place in the replayed file, or None."""
    placed = replay.lines or []
    rare = RareLines(now)
    aligned = _aligned([one.text for one in placed], list(now), rare)
    return [place if is_same else None for is_same, place, _ in aligned]


def _aligned(
    before: list[str], after: list[str], rare: RareLines
) -> Iterator[tuple[bool, int, str]]:
    """Yield for each line of ``after``: whether it is in ``before`` too, its place there, its text.

    A common line, such as ``return None``, counts as the same line only if a rare line beside it is
    the same too, or if it is at the beginning or end of both texts."""
    old, new = list(map(squeezed, before)), list(map(squeezed, after))
    at = 0
    if len(old) * len(new) <= _MOST_COMPARED:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        for first, second, size in matcher.get_matching_blocks():
            is_begin = first == second == 0
            is_end = first + size == len(old) and second + size == len(new)
            run = after[second : second + size]
            if not size or not (is_begin or is_end or any(text in rare for text in run)):
                continue
            yield from ((False, -1, after[place]) for place in range(at, second))
            yield from ((True, first + k, after[second + k]) for k in range(size))
            at = second + size
    yield from ((False, -1, after[place]) for place in range(at, len(after)))


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _replaced(change: Change) -> Iterator[tuple[str, str, bool]]:
    if change.replacements:
        yield from ((one.old, one.new, one.everywhere) for one in change.replacements)
    else:
        yield from ((*pair, False) for pair in hunks(change.lines))


def _places(text: str, wanted: str) -> list[tuple[int, int]]:
    """Return the begin and end of each place where ``wanted`` is in ``text``."""
    found, end = [], 0
    while wanted and (place := text.find(wanted, end)) >= 0:
        end = place + len(wanted)
        found.append((place, end))
    return found
