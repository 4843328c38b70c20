"""Details of one event: facts, cost, tries of the same call, its whole text and its pictures."""

from typing import Any

from starlette.responses import PlainTextResponse, Response

from session_memory.core.errors import UnknownEvent
from session_memory.core.schema import Session
from session_memory.core.text import visible
from session_memory.derive.archived import readable_store
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.store.call_endings import same_calls
from session_memory.views.cost_audit import response_near
from session_memory.views.event_lookup import find_event
from session_memory.views.figures import duration, local
from session_memory.views.outline import Outline
from session_memory.views.pictures import TYPES, picture
from session_memory.views.transcript_items import TranscriptEvent, TranscriptOptions
from session_memory.views.transcript_window import section_of, transcript_part
from session_memory.web.asked import Asked
from session_memory.web.charts import context_curve
from session_memory.web.pages.session_head import session_of
from session_memory.web.rows import event_address, session_address

BODY_PIECE = 64 * 1024
LONGEST_ERROR = 4000
_PER_MILLION = 1e6 / 1e12
_SORTS = {"prompt": "your message", "result": "output", "note": "note"}
_BUCKETS = {
    "input": "input",
    "output": "output",
    "cache_read": "cache read",
    "cache_write": "cache write",
    "cache_write_1h": "cache write, 1 h",
}


def event_inspector(asked: Asked) -> Response:
    """Return the inspector of an event: what it was, and what its response cost, as HTML."""
    found, shown = _event(asked, TranscriptOptions(inherited=True))
    event = shown.event
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    sizes = [size for at, size in outline.context if at <= shown.seq]
    return asked.page(
        "inspector",
        shown=shown,
        what=f"{_SORTS.get(shown.sort, shown.sort)}{', failed' if event.is_error else ''}",
        facts=_facts(shown),
        same=_same(asked, found, shown, outline),
        parts=_price_parts(asked, found, shown),
        context=sizes[-1] if sizes else None,
        curve=context_curve(outline.context, shown.seq),
        seen=_seen(asked, found, shown),
        raw=f"{session_address(found.session_uid)}/raw/{event.event_uid}",
    )


def _event(asked: Asked, options: TranscriptOptions) -> tuple[Session, TranscriptEvent]:
    """Return the session and the event that the address names, even if it is bookkeeping."""
    store, found = asked.memory.store, session_of(asked)
    seq = find_event(store, found.session_uid, asked.path["event"])
    kept = TranscriptOptions(inherited=True, level=options.level, kept=seq)
    part = transcript_part(store, found.session_uid, section_of(seq), kept)
    shown = next((one for one in part.events if one.seq == seq), None)
    if shown is None:
        raise UnknownEvent(f"event {seq} has nothing to show", found.session_uid)
    return found, shown


def _facts(shown: TranscriptEvent) -> list[tuple[str, str]]:
    event = shown.event
    facts = [
        ("at", local(event.ts, "%d %b %Y, %H:%M:%S").lstrip("0") if event.ts else ""),
        ("tool", event.tool or ""),
        ("took", duration(shown.duration_ms / 1000) if shown.duration_ms is not None else ""),
        ("exit code", "" if event.exit_code is None else str(event.exit_code)),
        ("model", event.model or ""),
    ]
    return [(name, value) for name, value in facts if value]


def _same(
    asked: Asked, found: Session, shown: TranscriptEvent, outline: Outline
) -> dict[str, Any] | None:
    """Return when the same call failed before this one and passed after it in the session.

    None if there is no other try of the same call.
    """
    if shown.sort not in ("call", "result") or not shown.event.call_id or shown.owner:
        return None
    read = readable_store(asked.memory.store, found.session_uid)
    row = read.sessions.row(found.session_uid)
    tries = [] if row is None else same_calls(read.db, row.id, shown.event.call_id)
    here = next((n for n, one in enumerate(tries) if shown.seq in (one.seq, one.result)), None)
    if here is None or len(tries) < 2:
        return None
    ended = [one for one in tries if one.result is not None]
    failed = [one for one in ended if one.is_error and one.seq < tries[here].seq]
    passed = [one for one in ended if not one.is_error and one.seq > tries[here].seq]
    since = tries[here].seq
    edits = sum(
        1
        for mark in outline.marks
        if passed and mark.sort == "edit" and since < mark.seq < passed[0].seq
    )

    def at(seq: int) -> tuple[int, str]:
        return seq, event_address(found.session_uid, str(seq))

    return {
        "number": here + 1,
        "all": len(tries),
        "failed": at(failed[-1].seq) if failed else None,
        "passed": at(passed[0].seq) if passed else None,
        "edits": edits,
    }


def _seen(asked: Asked, found: Session, shown: TranscriptEvent) -> dict[str, Any] | None:
    """Return how the same error, or a similar one, was resolved in other sessions."""
    is_error = shown.event.is_error or shown.event.kind == "error"
    text = (shown.text or shown.title)[:LONGEST_ERROR]
    if not is_error or not text.strip():
        return None
    result = asked.memory.fix(text, limit=6)
    others = [
        one
        for one in result.remedies
        if one.kind is not None and one.session_uid != found.session_uid
    ]
    if result.basis == "nothing" or not others:
        return None
    return {
        "basis": result.basis,
        "asked": result.asked,
        "rows": [
            {
                "text": one.text,
                "title": one.title or one.name,
                "certainty": one.certainty,
                "address": event_address(
                    one.session_uid, one.steps[0].event_uid if one.steps else one.error_event
                ),
            }
            for one in others[:3]
        ],
    }


def _price_parts(asked: Asked, found: Session, shown: TranscriptEvent) -> dict[str, Any] | None:
    """Return the cost (tokens times prices) of the response that an event belongs to.

    For an output, it is the response that made the call.
    """
    is_output = shown.sort == "result"
    if shown.owner or not (shown.event.response_id or is_output):
        return None
    store, uid = asked.memory.store, found.session_uid
    one = response_near(store, uid, shown.seq, is_before=is_output)
    if one is None:
        return None
    return {
        "rows": [
            (
                _BUCKETS.get(part.bucket, part.bucket.replace("_", " ")),
                f"{part.count:,}",
                f"{part.price * _PER_MILLION:g}",
                _small(part.picodollars),
            )
            for part in one.parts
            if part.count
        ],
        "total": money(Amount(one.microdollars)) if one.rate.price else "unpriced",
        "rule": one.rate.words,
    }


def _small(picodollars: int) -> str:
    dollars = picodollars / 1e12
    return "<$0.0001" if 0 < dollars < 0.0001 else f"${dollars:.4f}"


def event_body(asked: Asked) -> Response:
    """Return a piece of the whole text of an event, as plain text."""
    _, shown = _event(asked, TranscriptOptions(level="full"))
    start = asked.number("from")
    piece = shown.text[start : start + BODY_PIECE]
    answer = PlainTextResponse("\n".join(visible(line.expandtabs(4)) for line in piece.split("\n")))
    answer.headers["X-Characters"] = str(len(shown.text))
    return answer


def event_image(asked: Asked) -> Response:
    """Return a picture inside an event. Its bytes decide about its type; none is fetched."""
    found, shown = _event(asked, TranscriptOptions())
    read = readable_store(asked.memory.store, found.session_uid)
    number = asked.number("number", most=1 << 20)
    made = picture(read, shown.owner or found.session_uid, shown.event, number)
    if made is None:
        text = f"event {shown.seq} has no picture {number} that can be shown"
        raise UnknownEvent(text, found.session_uid)
    name = f"event-{shown.seq}-{number}.{TYPES[made.media_type]}"
    headers = {"Content-Disposition": f'inline; filename="{name}"'}
    return Response(made.data, media_type=made.media_type, headers=headers)
