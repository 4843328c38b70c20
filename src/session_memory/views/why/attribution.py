"""Find the edit that wrote each line of a file, by the edits in the logs and the git history."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from session_memory.views.why.git_history import BlamedLine, GitHistory
from session_memory.views.why.line_text import (
    RareLines,
    is_import,
    is_long,
    squeezed,
    without_brackets,
)
from session_memory.views.why.logged_edits import LoggedEdits
from session_memory.views.why.replay import LoggedEdit, PlacedLine, Replay, places_in

CERTAIN, LIKELY = "certain", "likely"
# Clocks differ a little, and git knows only seconds.
_SLACK_MS = 5_000
_SHORTEST_PART = 12
_FARTHEST = 5


class LineSource(msgspec.Struct, frozen=True):
    """The edit that introduced a line. ``certainty`` is ``certain`` or ``likely``."""

    edit: LoggedEdit
    certainty: str = CERTAIN


class Attribution:
    """Finds the edit of every line of one file."""

    def __init__(self, edits: LoggedEdits, history: GitHistory, path: str) -> None:
        self._edits = edits
        self._history = history
        self._path = path
        self._replays: dict[str, Replay] = {}
        self._earlier_names: tuple[str, ...] = ()

    def of(
        self, lines: Sequence[BlamedLine], wanted: range | None = None
    ) -> list[LineSource | None]:
        """Return the source of each line. Lines outside of ``wanted`` are only context."""
        rare = RareLines(line.text for line in lines)
        telling = [line.text in rare for line in lines]
        found = self._by_place(lines, telling)
        _drop_lonely(found, telling)
        asked = [n for n, line in enumerate(lines) if wanted is None or line.number in wanted]
        for place in asked:
            if found[place] is None and telling[place]:
                found[place] = self._by_text(lines, place)
        known = list(found)
        for place in asked:
            if known[place] is None and not telling[place]:
                found[place] = self._by_neighbour(lines, known, telling, place)
        return found

    def replay(self, path: str) -> Replay:
        """Return a file as its logged edits made it. The result is cached."""
        if path not in self._replays:
            names = self._earlier_names if path == self._path else ()
            edits = [edit for name in (path, *names) for edit in self._edits.of_file(name)]
            edits.sort(key=lambda edit: edit.ts)
            before = self._history.before(edits[0].path, edits[0].ts) if edits else None
            replay = self._replays[path] = Replay(before)
            for edit in edits:
                replay.apply(edit)
        return self._replays[path]

    def follow(self, lines: Sequence[BlamedLine]) -> None:
        """Include the edits of the file under its earlier names, which git gives for ``lines``."""
        names = {line.path_then for line in lines if line.commit} - {self._path}
        # An earlier name may be that of another file now, with edits of its own.
        self._earlier_names = tuple(sorted(filter(self._history.is_gone, names)))
        if self._earlier_names:
            self._replays.pop(self._path, None)

    def _by_place(
        self, lines: Sequence[BlamedLine], telling: Sequence[bool]
    ) -> list[LineSource | None]:
        """Return the source of each line that is where the edits of this file put it."""
        replay = self.replay(self._path)
        placed = places_in(replay, [line.text for line in lines])
        found: list[LineSource | None] = []
        for number, (place, line) in enumerate(zip(placed, lines, strict=True)):
            edit = None if place is None or replay.lines is None else replay.lines[place].edit
            if edit is None or not _is_in_time(edit, line, is_rare=telling[number]):
                found.append(None)
                continue
            is_sure = (
                telling[number]
                and not replay.is_doubtful(line.text, edit)
                and (is_long(line.text) or _has_neighbour(replay, placed, lines, number))
            )
            found.append(LineSource(edit, CERTAIN if is_sure else LIKELY))
        return found

    def _by_text(self, lines: Sequence[BlamedLine], place: int) -> LineSource | None:
        """Find the source of a rare line by its text: an edit of this or another file.

        Such a line was moved, was removed and came back, or was split or joined by a formatter.
        """
        line = lines[place]
        for path in dict.fromkeys((line.path_then, self._path)):
            if found := self._introduced(lines, place, path):
                return LineSource(_best(found), LIKELY)
        elsewhere = [] if is_import(line.text) else self._edits.with_text(line.text)
        files = dict.fromkeys(one.path for one in elsewhere)
        # Short lines are alike by chance, and so are imports.
        least = 1 if is_long(line.text) else 2
        others = [
            found
            for path in files
            for found in self._introduced(lines, place, path)
            if found[0] >= least
        ]
        if others:
            return LineSource(_best(others), LIKELY)
        return self._by_part(line, squeezed(line.text))

    def _by_neighbour(
        self,
        lines: Sequence[BlamedLine],
        known: Sequence[LineSource | None],
        telling: Sequence[bool],
        place: int,
    ) -> LineSource | None:
        """Find the source of a common line, such as ``return None``: the edit of the nearest rare
        line, if that edit introduced both lines at this distance."""
        for step in (-1, 1):
            at = place + step
            while 0 <= at < len(lines) and abs(at - place) < _FARTHEST and not telling[at]:
                at += step
            source = known[at] if 0 <= at < len(lines) and telling[at] else None
            if source is not None and self._wrote_both(source.edit, lines, place, at):
                return LineSource(source.edit, LIKELY)
        return None

    def _wrote_both(
        self, edit: LoggedEdit, lines: Sequence[BlamedLine], place: int, rare: int
    ) -> bool:
        wrote = [
            squeezed(one.text)
            for one in self.replay(edit.path).introduced
            if one.edit is not None and one.edit.event_uid == edit.event_uid
        ]
        first, last = min(place, rare), max(place, rare)
        wanted = [squeezed(line.text) for line in lines[first : last + 1]]
        count = len(wanted)
        return any(wrote[n : n + count] == wanted for n in range(len(wrote) - count + 1))

    def _introduced(
        self, lines: Sequence[BlamedLine], place: int, path: str
    ) -> list[tuple[int, LoggedEdit]]:
        """Return the edits of a file that introduced a line, each with the number of lines around
        it that the edit introduced too."""
        wanted = squeezed(lines[place].text)
        introduced = self.replay(path).introduced
        found = []
        for number, one in enumerate(introduced):
            if one.edit is None or squeezed(one.text) != wanted:
                continue
            if _is_in_time(one.edit, lines[place], is_rare=True):
                around = _around(introduced, number, lines, place)
                found.append((around, one.edit))
        return found

    def _by_part(self, line: BlamedLine, wanted: str) -> LineSource | None:
        """Find the source of a line that a formatter split or joined: an edit that wrote its text
        as a part of other lines."""
        wanted = without_brackets(wanted)
        if len(wanted) < _SHORTEST_PART:
            return None
        texts: dict[str, list[str]] = defaultdict(list)
        edits: dict[str, LoggedEdit] = {}
        for one in self.replay(line.path_then).introduced:
            if one.edit is not None and _is_in_time(one.edit, line, is_rare=True):
                texts[one.edit.event_uid].append(without_brackets(squeezed(one.text)))
                edits[one.edit.event_uid] = one.edit
        found = [edits[uid] for uid, parts in texts.items() if wanted in "".join(parts)]
        return LineSource(max(found, key=lambda one: one.ts), LIKELY) if found else None


def _has_neighbour(
    replay: Replay, placed: Sequence[int | None], lines: Sequence[BlamedLine], number: int
) -> bool:
    """Whether a line beside this one is beside it in the replayed file too, by the same edit."""
    kept, place = replay.lines or [], placed[number]
    for step in (-1, 1):
        at = number + step
        while 0 <= at < len(lines) and not lines[at].text.strip():
            at += step
        other = placed[at] if 0 <= at < len(lines) else None
        if place is None or other is None or other - place != at - number:
            continue
        if kept[other].edit is kept[place].edit:
            return True
    return False


def _around(
    introduced: Sequence[PlacedLine], number: int, lines: Sequence[BlamedLine], place: int
) -> int:
    """Count the lines beside a line that are the same in an edit and in the file."""
    same = 0
    for step in (-1, 1):
        at, there = number + step, place + step
        while (
            0 <= at < len(introduced)
            and 0 <= there < len(lines)
            and introduced[at].edit is introduced[number].edit
            and squeezed(introduced[at].text) == squeezed(lines[there].text)
            and abs(at - number) <= _FARTHEST
        ):
            same += bool(lines[there].text.strip())
            at, there = at + step, there + step
    return same


def _best(found: list[tuple[int, LoggedEdit]]) -> LoggedEdit:
    """Return the edit that introduced most of the lines around; of several, the last."""
    most = max(around for around, _ in found)
    return max((edit for around, edit in found if around == most), key=lambda edit: edit.ts)


def _drop_lonely(found: list[LineSource | None], telling: Sequence[bool]) -> None:
    """Remove the source of a common line, such as ``}``, unless a rare line of the same edit is
    beside it."""
    kept = list(found)
    for place, source in enumerate(found):
        if source is None or telling[place]:
            continue
        if not any(_reaches(found, telling, place, step) for step in (-1, 1)):
            kept[place] = None
    found[:] = kept


def _is_in_time(edit: LoggedEdit, line: BlamedLine, *, is_rare: bool) -> bool:
    """Whether the edit was before the commit of the line.

    For a line that ``is_rare``, this is the commit that introduced its text, else the last one that
    git names for it.
    """
    commit = line.origin if is_rare else line.commit
    return commit is None or edit.ts <= commit.committed_at + _SLACK_MS


def _reaches(
    found: Sequence[LineSource | None], telling: Sequence[bool], place: int, step: int
) -> bool:
    """Whether the next lines in one direction are of the same edit, up to a rare line.

    ``telling`` says which lines are rare.
    """
    own = found[place]
    at = place + step
    while own is not None and 0 <= at < len(found):
        other = found[at]
        if other is None or other.edit.event_uid != own.edit.event_uid:
            return False
        if telling[at]:
            return True
        at += step
    return False
