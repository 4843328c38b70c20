"""Prepare the events of a transcript for the templates."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from session_memory.pricing import Amount
from session_memory.render.code import Colours, language_of
from session_memory.render.phrases import change_name, image_words
from session_memory.render.text import safe
from session_memory.views.figures import count, duration, local
from session_memory.views.paths import path_from
from session_memory.views.pictures import TYPES
from session_memory.views.transcript_items import TranscriptEvent
from session_memory.web.markup import answer, code, diff_lines, lines, output
from session_memory.web.rows import cost_shown, event_address, session_address, short_model

if TYPE_CHECKING:
    from session_memory.core.changes import Change
    from session_memory.core.schema import Session
    from session_memory.views.outline import Outline, OutlineLane, OutlineTurn
    from session_memory.views.questions import AskedQuestion
    from session_memory.views.started_sessions import StartedSessions

SHOWN_LINES = 8
MOST_TEXT = 64 * 1024
MOST_DIFF_LINES = 400
# A part has fewer lines of diffs and less coloured code than a page, because several parts are on
# the screen and near it. A diff shows some lines in any case.
MOST_PART_LINES, LEAST_DIFF_LINES = 500, 8
MOST_CHANGES = 100
LONGEST_LABEL = 400
# At most this many characters of code in a part of 50 events are coloured.
MOST_COLOURED = 12 * 1024


class FoldedText(msgspec.Struct, frozen=True):
    """An output: its first lines, the folded rest (``more`` lines), and the number of characters
    that are left out."""

    first: Markup
    rest: Markup | None
    more: int
    left_out: int


class ShownDiff(msgspec.Struct, frozen=True):
    """The first lines of a diff. ``whole`` is the address of the page with all of them."""

    name: str
    added: int
    removed: int
    lines: list[tuple[str, str, Markup]]
    left_out: int
    whole: str = ""


class ShownSubagent(msgspec.Struct, frozen=True):
    title: str
    address: str
    rows: str
    facts: str


class ShownImage(msgspec.Struct, frozen=True):
    """A picture of an event. ``address`` is empty if it cannot be shown."""

    words: str
    address: str


class EventShown(msgspec.Struct, frozen=True, kw_only=True):
    """One event, as the template ``event_rows.html`` shows it.

    ``sort`` selects the layout: prompt, answer, thinking, call, result or note. ``label`` is the
    line that names a call, or the line of a note. ``before`` is a line above a prompt: number,
    duration, output tokens and cost of the turn before it.
    """

    sort: str
    seq: int
    before: str
    event_uid: str
    address: str
    time: str
    marks: tuple[str, ...]
    classes: str
    tool: str = ""
    label: str = ""
    facts: str = ""
    body: Markup = Markup()
    text: FoldedText | None = None
    diffs: list[ShownDiff] = []
    images: list["ShownImage"] = []
    subagents: list[ShownSubagent] = []
    is_failed: bool = False


class RowMaker:
    """Makes the rows of one session. ``started`` says which calls started subagents; ``outline``
    says what turns used."""

    def __init__(
        self, session: "Session", started: "StartedSessions", outline: "Outline | None" = None
    ) -> None:
        self._session = session
        self._lanes = {one.uid: one for one in started.lanes}
        self._calls = started.calls
        self._colours = Colours(MOST_COLOURED)
        self._lines_left = MOST_PART_LINES
        self._context = () if outline is None else outline.context
        self._turns = {} if outline is None else turns_before(outline)

    def rows(self, events: Iterable[TranscriptEvent]) -> Iterator[EventShown]:
        return (self.row(event) for event in events)

    def row(self, shown: TranscriptEvent) -> EventShown:
        event = shown.event
        uid = event.event_uid or ""
        return EventShown(
            sort=shown.sort,
            seq=shown.seq,
            before=self._turns.get(shown.seq, "") if shown.sort == "prompt" else "",
            event_uid=uid,
            address=event_address(self._session.session_uid, uid),
            time=local(event.ts, "%H:%M:%S") if event.ts else "",
            marks=tuple(mark for mark in shown.marks if mark not in ("error", "test_run")),
            classes=_classes(shown),
            tool=event.tool or "tool",
            label=self._label(shown),
            facts=" · ".join(_facts(shown)),
            body=self._body(shown),
            text=folded(shown.text) if shown.sort in ("result", "note") else None,
            diffs=[self._diff(change) for change in shown.changes[:MOST_CHANGES]],
            images=self._images(shown),
            subagents=list(self._subagents(shown)),
            is_failed=event.is_error or event.kind in ("error", "retry"),
        )

    def _diff(self, change: "Change") -> ShownDiff:
        name = change_name(change, self._session.cwd)
        counts = (change.added, change.removed)
        most = max(min(MOST_DIFF_LINES, self._lines_left), LEAST_DIFF_LINES)
        self._lines_left -= min(len(change.lines), most)
        shown = shown_diff(name, change.path, counts, change.lines, self._colours, most)
        return replace(shown, whole=f"{session_address(self._session.session_uid)}/changes")

    def _body(self, shown: TranscriptEvent) -> Markup:
        if shown.sort == "prompt":
            return lines((shown.text or shown.title)[:MOST_TEXT])
        if shown.sort in ("answer", "thinking"):
            return answer((shown.text or shown.title)[:MOST_TEXT], self._colours)
        if shown.sort == "call" and shown.questions:
            return Markup("").join(_question(one) for one in shown.questions)
        if shown.sort == "call" and shown.command and "\n" in shown.command.strip():
            command = code(shown.command.strip("\n")[:MOST_TEXT], "bash", self._colours)
            return Markup('<pre class="out">{}</pre>').format(command)
        return Markup()

    def _images(self, shown: TranscriptEvent) -> list[ShownImage]:
        base = event_address(self._session.session_uid, shown.event.event_uid or str(shown.seq))
        return [
            ShownImage(
                image_words(image),
                f"{base}/image/{number}" if image.media_type in TYPES and image.bytes else "",
            )
            for number, image in enumerate(shown.images)
        ]

    def _label(self, shown: TranscriptEvent) -> str:
        """Return the line that names a call, such as its command or path, or the line of a note."""
        if shown.sort == "note":
            if "compaction" in shown.marks:
                return self._compaction(shown)
            return shown.title or shown.text[:LONGEST_LABEL]
        if shown.sort != "call" or shown.changes:
            return ""
        if shown.questions:
            return shown.questions[0].text[:LONGEST_LABEL]
        if shown.command is not None:
            return shown.command.strip().split("\n", 1)[0][:LONGEST_LABEL]
        return path_from(shown.title, self._session.cwd)[:LONGEST_LABEL]

    def _compaction(self, shown: TranscriptEvent) -> str:
        """Say how much the model was sent before and after a compaction."""
        before = next((size for at, size in reversed(self._context) if at <= shown.seq), None)
        after = next((size for at, size in self._context if at > shown.seq), None)
        if before is None or after is None or after >= before:
            return "Compacted here. What the model no longer sees is still above."
        return (
            f"Compacted here: {count(before)} tokens became {count(after)}. "
            "What the model no longer sees is still above."
        )

    def _subagents(self, shown: TranscriptEvent) -> Iterator[ShownSubagent]:
        if shown.sort != "call" or not shown.event.call_id:
            return
        for uid in self._calls.get(shown.event.call_id, ()):
            yield subagent(self._lanes[uid])


def shown_diff(
    name: str,
    path: str,
    counts: tuple[int, int],
    lines: Sequence[str],
    colours: Colours,
    most: int = MOST_DIFF_LINES,
) -> ShownDiff:
    """Return the first lines of a diff with coloured code, and with the changed words marked."""
    kept = diff_lines(lines[:most], language_of(path), colours)
    return ShownDiff(name, *counts, kept, max(len(lines) - most, 0))


def subagent(lane: "OutlineLane") -> ShownSubagent:
    spent = cost_shown(Amount(lane.microdollars))
    took = ""
    if lane.start is not None and lane.end is not None:
        took = duration((lane.end - lane.start) / 1000)
    facts = " · ".join(part for part in (short_model(lane.model), took, spent) if part)
    address = session_address(lane.uid or "")
    return ShownSubagent(lane.title, address, f"{address}/rows/0?inside=1", facts)


def turns_before(outline: "Outline") -> dict[int, str]:
    """Return what each turn used, by the seq at which the next turn begins."""
    return {
        following.seq: " · ".join(_turn_words(turn))
        for turn, following in pairwise(outline.turns)
        if turn.number
    }


def _turn_words(turn: "OutlineTurn") -> Iterator[str]:
    yield f"turn {turn.number}"
    if turn.seconds:
        yield duration(turn.seconds)
    if turn.output_tokens:
        yield f"{count(turn.output_tokens)} tokens out"
    if turn.microdollars:
        yield cost_shown(Amount(turn.microdollars))


def folded(text: str, first: int = SHOWN_LINES) -> FoldedText | None:
    """Prepare the text of an output; None for a blank one.

    A long text is folded, and a very long one is cut.
    """
    text = text.strip("\n")
    if not text.strip():
        return None
    left_out = max(len(text) - MOST_TEXT, 0)
    every = output(text[:MOST_TEXT])
    if len(every) <= first + 2:
        return FoldedText(Markup("\n").join(every), None, 0, left_out)
    rest = Markup("\n").join(every[first:])
    return FoldedText(Markup("\n").join(every[:first]), rest, len(every) - first, left_out)


def _classes(shown: TranscriptEvent) -> str:
    names = [f"is-{shown.sort}"]
    if shown.event.branch is not None:
        names.append("left")
    if shown.owner is not None:
        names.append("inherited")
    if shown.event.is_sidechain:
        names.append("sidechain")
    if "compaction" in shown.marks:
        names.append("compaction")
    return " ".join(names)


def _facts(shown: TranscriptEvent) -> Iterator[str]:
    event = shown.event
    if shown.sort == "result":
        if event.exit_code:
            yield f"exit {event.exit_code}"
        if shown.duration_ms is not None:
            yield duration(shown.duration_ms / 1000)
    if event.is_a("retry"):
        yield "tried again"
    if shown.sort == "answer" and event.model:
        yield short_model(event.model)


def _question(question: "AskedQuestion") -> Markup:
    offered = Markup("").join(
        Markup("<li><b>{}</b> {}</li>").format(safe(one.label), safe(one.description))
        for one in question.options
    )
    asked = lines(question.text)
    return Markup('<div class="asks"><p>{}</p><ol>{}</ol></div>').format(asked, offered)
