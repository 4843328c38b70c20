"""One session: what it was, what it cost, its turns, and its transcript in parts.

A page holds an empty place for every 50 events. A script fills those that are near the screen. The
first part, or the one that the address names, is there without it.
"""

from typing import Any

import msgspec
from starlette.responses import PlainTextResponse, Response

from session_memory.core.errors import UnknownEvent
from session_memory.core.schema import Session
from session_memory.core.text import visible
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.views.cost_audit import audit
from session_memory.views.event_lookup import find_event
from session_memory.views.evicted import readable_events
from session_memory.views.figures import count_or_zero, duration
from session_memory.views.outline import SECTION, Outline, OutlineTurn
from session_memory.views.transcript_items import LEVELS, TranscriptOptions
from session_memory.views.transcript_window import section_of, transcript_part
from session_memory.web.asked import Asked
from session_memory.web.pages.session_head import session_of, session_page
from session_memory.web.rows import cost_shown, event_address, session_address
from session_memory.web.transcript_rows import RowMaker, subagent

BODY_PIECE = 64 * 1024
TURNS = 100
MOST_FOUND = 500
"""How many turns are listed at once."""
# The height that an empty part has until it is filled, in pixels for each event.
EVENT_HEIGHT = 64


class ShownTurn(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    address: str
    seq: int
    last: int
    title: str
    facts: str
    share: float
    is_left: bool


def _options(asked: Asked) -> TranscriptOptions:
    level = asked.query.get("depth", "tool")
    everything = asked.query.get("all") == "1"
    return TranscriptOptions(
        level=level if level in LEVELS else "tool", inherited=True, everything=everything
    )


def session(asked: Asked) -> Response:
    store, found = asked.memory.store, session_of(asked)
    uid = found.session_uid
    read, missing = readable_events(store, uid)
    row = read.sessions.row(uid)
    last = -1 if row is None else read.events.last_seq(row.id)
    chosen = find_event(store, uid, asked.path["event"]) if "event" in asked.path else None
    number = section_of(chosen) if chosen is not None else asked.number("part")
    options = _options(asked)
    part = transcript_part(store, uid, number, options)
    outline = asked.site.outline(asked.memory, uid, found.revision) if last < 5000 else None
    maker = RowMaker(found, outline)
    return session_page(
        asked,
        found,
        "",
        "session",
        events=last + 1,
        sections=max(last, 0) // SECTION + 1,
        heights=_heights(last),
        number=number,
        rows=list(maker.rows(part.events)),
        chosen=chosen,
        depth=options.level,
        levels=LEVELS,
        missing=missing,
        unplaced=[]
        if outline is None
        else [subagent(lane) for lane in outline.lanes if lane.uid in outline.unplaced],
    )


def _heights(last: int) -> list[int]:
    """How many events each part has: the last one may have fewer."""
    sections = max(last, 0) // SECTION + 1
    return [SECTION] * (sections - 1) + [max(last, 0) % SECTION + 1]


def session_rows(asked: Asked) -> Response:
    """One part of the transcript, as HTML."""
    found, number = session_of(asked), asked.number("number", most=1 << 30)
    options = _options(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    tag = f"{found.revision}.{number}.{options.level}.{int(options.everything)}"
    if asked.is_current == f'"{tag}"':
        return asked.tagged(Response(), tag)
    part = transcript_part(asked.memory.store, found.session_uid, number, options)
    rows = list(RowMaker(found, outline).rows(part.events))
    answer = asked.page("rows", rows=rows, hidden=part.hidden)
    return asked.tagged(answer, tag)


def session_turns(asked: Asked) -> Response:
    """The list of turns, as HTML."""
    found = session_of(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    pages = max(-(-len(outline.turns) // TURNS), 1)
    page = min(asked.number("page"), pages - 1)
    if "at" in asked.query:
        at = asked.number("at")
        before = [turn for turn in outline.turns if turn.seq <= at]
        page = max(len(before) - 1, 0) // TURNS
    address = f"{session_address(found.session_uid)}/turns?page="
    return asked.page(
        "turns",
        turns=shown_turns(outline)[page * TURNS : (page + 1) * TURNS],
        earlier=f"{address}{page - 1}" if page else "",
        later=f"{address}{page + 1}" if page + 1 < pages else "",
    )


def shown_turns(outline: Outline) -> list[ShownTurn]:
    dearest = max((turn.microdollars for turn in outline.turns), default=0) or 1
    return [_turn(outline.uid, turn, dearest) for turn in outline.turns]


def _turn(uid: str, turn: OutlineTurn, dearest: int) -> ShownTurn:
    facts = [
        cost_shown(Amount(turn.microdollars)),
        duration(turn.seconds) if turn.seconds else "",
        f"{count_or_zero(turn.output_tokens)} tokens out" if turn.output_tokens else "",
    ]
    return ShownTurn(
        number=turn.number,
        address=event_address(uid, turn.event_uid),
        seq=turn.seq,
        last=turn.last,
        title=turn.title or "before the first prompt",
        facts=" · ".join(fact for fact in facts if fact),
        share=round(48 * turn.microdollars / dearest, 1),
        is_left=turn.is_left,
    )


def session_outline(asked: Asked) -> Response:
    """What the map and the keys need, as JSON."""
    found = session_of(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    return asked.tagged(asked.json(outline.to_dict()), f"o{found.revision}")


def find_in_session(asked: Asked) -> Response:
    """The events of a session with all words, as JSON: ids and numbers, and how many there are."""
    found, text = session_of(asked), asked.query.get("q", "")
    if not text.strip():
        return asked.json({"hits": [], "total": 0, "total_exact": True})
    results = asked.memory.search(text, session=found.session_uid, limit=MOST_FOUND)
    hits = [
        {"event_uid": hit.event_uid, "seq": hit.seq} for hit in results.hits if hit.seq is not None
    ]
    hits.sort(key=lambda hit: hit["seq"] or 0)
    return asked.json({"hits": hits, "total": results.total, "total_exact": results.total_exact})


def event_inspector(asked: Asked) -> Response:
    """What one event was and what its response cost, as HTML."""
    store, found = asked.memory.store, session_of(asked)
    seq = find_event(store, found.session_uid, asked.path["event"])
    part = transcript_part(
        store, found.session_uid, section_of(seq), TranscriptOptions(inherited=True, kept=seq)
    )
    shown = next((one for one in part.events if one.seq == seq), None)
    if shown is None:
        raise UnknownEvent(f"event {seq} has nothing to show", found.session_uid)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    return asked.page(
        "inspector",
        shown=shown,
        what=_what(shown.sort, shown.event.is_error),
        parts=_price_parts(asked, found, shown.event.response_id, seq),
        context=next((size for at, size in reversed(outline.context) if at <= seq), None),
    )


def _what(sort: str, is_error: bool) -> str:
    names = {"prompt": "your message", "result": "output", "note": "note"}
    return f"{names.get(sort, sort)}{', failed' if is_error else ''}"


def _price_parts(
    asked: Asked, found: Session, response: str | None, seq: int
) -> dict[str, Any] | None:
    """The response that an event belongs to: its tokens and their prices."""
    if response is None:
        return None
    records = audit(asked.memory.store, found.session_uid).records
    # Usage is stored at the last event of its response.
    one = next((r for r in records if r.usage.seq is not None and r.usage.seq >= seq), None)
    if one is None:
        return None
    return {
        "rows": [
            (part.bucket.replace("_", " "), f"{part.count:,}", f"${part.picodollars / 1e12:.4f}")
            for part in one.parts
            if part.count
        ],
        "total": money(Amount(one.microdollars)) if one.rate.price else "unpriced",
        "rule": one.rate.words,
    }


def event_body(asked: Asked) -> Response:
    """A piece of the whole text of an event, as plain text."""
    store, found = asked.memory.store, session_of(asked)
    seq = find_event(store, found.session_uid, asked.path["event"])
    options = TranscriptOptions(inherited=True, kept=seq, level="full")
    part = transcript_part(store, found.session_uid, section_of(seq), options)
    text = next((one.text for one in part.events if one.seq == seq), "")
    start = asked.number("from")
    lines = (visible(line.expandtabs(4)) for line in text[start : start + BODY_PIECE].split("\n"))
    answer = PlainTextResponse("\n".join(lines))
    answer.headers["X-Characters"] = str(len(text))
    return answer
