"""Read an event as an item of a transcript: its text, the changes it made, and its duration."""

from itertools import islice
from typing import Any

import msgspec

from session_memory.core.changes import Change
from session_memory.core.schema import Session, SessionEvent
from session_memory.core.text import one_line
from session_memory.core.time import parse_time
from session_memory.derive.agents import about, changes_asked
from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import command_of
from session_memory.store import Store
from session_memory.views.noise import is_bookkeeping
from session_memory.views.payloads import Payloads
from session_memory.views.questions import AskedQuestion, questions_asked
from session_memory.views.session import is_compaction
from session_memory.views.transcript_items import (
    PERSON_KINDS,
    TranscriptEvent,
    TranscriptOptions,
)

MOST_OPEN_CALLS = 10_000
MOST_GIVEN, LONGEST_GIVEN = 6, 60
# Arguments that say what a call searches for.
_SEARCHED = ("pattern", "query", "regex")
# Kinds that are named beside an event.
_WORTH_A_WORD = frozenset({"human_intervention", "decision", "retry", "test_run", "error"})


class EventReader:
    """Turns the events of one session into items of a transcript. ``depth`` is 0 for the session
    that the user named, 1 for its subagents, and so on."""

    def __init__(
        self, store: Store, session: Session, options: TranscriptOptions, depth: int
    ) -> None:
        self._store = store
        self._session = session
        self._options = options
        self._depth = depth
        self._agent = about(session.flavor)
        self._bodies = Bodies(store)
        self._payloads: dict[str, Payloads] = {}
        self._called: dict[str, int] = {}

    def of(self, seq: int, owner: str | None, event: SessionEvent) -> TranscriptEvent | None:
        """Return the item for the event at ``seq``. An inherited event belongs to ``owner``.

        None for bookkeeping and for an event with nothing to read, unless the options ask for it.
        """
        is_kept = self._options.is_complete or (seq == self._options.kept and not self._depth)
        if not is_kept and is_bookkeeping(event):
            return None
        shown = self._read(seq, owner, event)
        if is_kept:
            return shown
        shown = self._readable(shown)
        return None if _is_empty(shown) else shown

    def _read(self, seq: int, owner: str | None, event: SessionEvent) -> TranscriptEvent:
        holder = owner or self._session.session_uid
        body = self._bodies.of(event)
        payloads = self._reader(holder)
        sort = sort_of(event)
        text, command = body.text, None
        changes: tuple[Change, ...] = ()
        questions: tuple[AskedQuestion, ...] = ()
        if self._options.level == "full":
            text = payloads.spilled(event) or text
        if sort == "call":
            command = command_of(event.tool or "", body.arguments)
            if event.is_a("edit"):
                changes = tuple(
                    changes_asked(event.session_uid, body.arguments, body.text, event.path)
                )
            elif event.tool in self._agent.decision_tools:
                questions = questions_asked(body.arguments)
        return TranscriptEvent(
            depth=self._depth,
            sort=sort,
            seq=seq,
            event=event,
            text=text,
            title=title_of(event, sort, body.arguments),
            command=command,
            arguments=body.arguments,
            changes=changes,
            questions=questions,
            images=payloads.images(event) if sort in ("prompt", "result") else (),
            marks=self._marks(event, owner),
            duration_ms=self._duration(event, sort),
            owner=owner,
            payload=payloads.of(event) if self._options.native else None,
        )

    def _readable(self, shown: TranscriptEvent) -> TranscriptEvent:
        """Return the item with its text as a person wrote or saw it, without the agent's tags."""
        if shown.sort in ("call", "answer", "thinking"):
            return shown
        text = self._agent.readable(shown.text)
        if text != shown.text:
            return msgspec.structs.replace(shown, text=text, title=one_line(text))
        return msgspec.structs.replace(shown, title=self._agent.readable(shown.title))

    def _reader(self, uid: str) -> Payloads:
        if uid not in self._payloads:
            self._payloads[uid] = Payloads(self._store, uid)
        return self._payloads[uid]

    def _marks(self, event: SessionEvent, owner: str | None) -> tuple[str, ...]:
        """Return the words to show beside the event, such as ``retry``, ``inherited`` or
        ``abandoned branch``."""
        marks = [mark for mark in (event.kind, *event.marks) if mark in _WORTH_A_WORD]
        if owner is not None:
            marks.append("inherited")
        if event.branch is not None:
            marks.append("abandoned branch")
        if event.is_sidechain and self._session.relation != "subagent":
            marks.append("sidechain")
        if is_compaction(event):
            marks.append("compaction")
        return tuple(dict.fromkeys(marks))

    def note_call(self, event: SessionEvent) -> None:
        """Remember when a call began: the duration of its result may have to be computed."""
        is_call = event.call_id and event.ts and event.is_a("tool_call")
        if is_call and len(self._called) < MOST_OPEN_CALLS:
            self._called[event.call_id or ""] = parse_time(event.ts or "")

    def _duration(self, event: SessionEvent, sort: str) -> int | None:
        self.note_call(event)
        if sort != "result":
            return event.duration_ms
        started = self._called.pop(event.call_id or "", None)
        if event.duration_ms is not None or started is None or not event.ts:
            return event.duration_ms
        return max(parse_time(event.ts) - started, 0)


def _is_empty(shown: TranscriptEvent) -> bool:
    """Whether an item has nothing to read: thinking that is not in the log, or an empty notice."""
    if shown.images or shown.sort in ("prompt", "call", "result") or is_compaction(shown.event):
        return False
    is_bad = shown.event.kind in ("error", "retry", "human_intervention")
    is_unsaid = shown.title in ("", _unsaid(shown.event, shown.sort))
    return not is_bad and is_unsaid and not shown.text.strip()


def title_of(event: SessionEvent, sort: str, arguments: Any) -> str:
    """Return the title of an event: one line of text."""
    return (
        _search(event, sort, arguments)
        or event.summary
        or _unsaid(event, sort)
        or _given(event, sort, arguments)
    )


def _search(event: SessionEvent, sort: str, arguments: Any) -> str:
    """Return what a call searches for and where, if its summary says only where."""
    place = event.path
    if sort != "call" or not place or event.summary != place or not isinstance(arguments, dict):
        return ""
    for name in _SEARCHED:
        words = arguments.get(name)
        if isinstance(words, str) and words.strip():
            return one_line(words if place in (".", "./") else f"{words} in {place}")
    return ""


def _unsaid(event: SessionEvent, sort: str) -> str:
    """Return a title for an event without text."""
    if sort == "thinking":
        return "(the log keeps none of it)"
    if is_compaction(event):
        return "(the conversation so far was summarized)"
    return f"({event.native_kind})" if event.native_kind and sort == "note" else ""


def _given(event: SessionEvent, sort: str, arguments: Any) -> str:
    """Return a call's arguments as its title, such as ``n=1``; empty if the call names a file."""
    if sort != "call" or event.path or not isinstance(arguments, dict):
        return ""
    shown = (f"{name}={_brief(value)}" for name, value in islice(arguments.items(), MOST_GIVEN))
    return one_line(", ".join(shown))


def _brief(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return one_line(value[:LONGEST_GIVEN])
        case _:
            return "…"


def sort_of(event: SessionEvent) -> str:
    if event.is_a("tool_call"):
        return "call"
    if event.is_a("tool_result"):
        return "result"
    if event.kind == "thinking":
        return "thinking"
    if event.role == "user" and any(event.is_a(kind) for kind in PERSON_KINDS):
        return "prompt"
    return "answer" if event.is_a("assistant_msg") else "note"
