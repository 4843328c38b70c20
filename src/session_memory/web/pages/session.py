"""The page of a session: what it was, what it cost, its turns, and its transcript in parts.

The page has an empty place for every 50 events. A script fills the places that are near the screen.
The first part, or the one that the address names, is in the page from the start.
"""

import msgspec
from starlette.responses import Response

from session_memory.core.schema import Session
from session_memory.pricing import Amount
from session_memory.views.event_lookup import find_event
from session_memory.views.evicted import readable_events
from session_memory.views.figures import duration
from session_memory.views.outline import BEFORE_FIRST_PROMPT, SECTION, Outline, OutlineTurn
from session_memory.views.started_sessions import started_sessions
from session_memory.views.transcript_items import LEVELS, TranscriptOptions
from session_memory.views.transcript_window import section_of, transcript_part
from session_memory.web.asked import Asked
from session_memory.web.pages.session_head import session_of, session_page
from session_memory.web.rows import cost_shown, event_address, session_address
from session_memory.web.transcript_rows import RowMaker, subagent

TURNS = 100
"""How many turns are listed at once."""
LONG = 5000
"""In a session with more events than this, rows do not wait for the outline."""
MOST_FOUND = 500
LEVEL_WORDS = {
    "user": "you",
    "assistant": "you and the answers",
    "tool": "calls, outputs folded",
    "full": "everything",
}
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
    started = started_sessions(store, read, uid)
    maker = RowMaker(found, started, _outline(asked, found, last))
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
        levels=[(level, LEVEL_WORDS[level]) for level in LEVELS],
        hides=asked.query.get("hide") == "1",
        missing=missing,
        unplaced=[subagent(lane) for lane in started.lanes if lane.uid in started.unplaced],
    )


def _outline(asked: Asked, found: Session, last: int) -> Outline | None:
    """Return the outline that the rows of a session use, or None.

    Rows of a long session do not wait for the outline: they use the last one that was made, if any.
    The request for the list of turns makes it.
    """
    if last < LONG:
        return asked.site.outline(asked.memory, found.session_uid, found.revision)
    return asked.site.kept_outline(found.session_uid)


def _heights(last: int) -> list[int]:
    """Return the number of events of each part: the last part may have fewer."""
    sections = max(last, 0) // SECTION + 1
    return [SECTION] * (sections - 1) + [max(last, 0) % SECTION + 1]


def session_rows(asked: Asked) -> Response:
    """Return one part of the transcript, as HTML."""
    found, number = session_of(asked), asked.number("number", most=1 << 30)
    options = _options(asked)
    store, uid = asked.memory.store, found.session_uid
    read, _ = readable_events(store, uid)
    row = read.sessions.row(uid)
    last = -1 if row is None else read.events.last_seq(row.id)
    outline = _outline(asked, found, last)
    is_inside = asked.query.get("inside") == "1"
    made = "" if outline is None else outline.revision
    shape = f"{options.level}.{int(options.everything)}{int(is_inside)}"
    tag = f"{found.revision}.{made}.{number}.{shape}"
    if asked.is_current == f'"{tag}"':
        return asked.tagged(Response(), tag)
    part = transcript_part(store, uid, number, options)
    started = started_sessions(store, read, uid)
    rows = list(RowMaker(found, started, outline).rows(part.events))
    more = ""
    if is_inside and number + 1 <= max(last, 0) // SECTION:
        more = f"{session_address(uid)}/rows/{number + 1}?inside=1"
    answer = asked.page("rows", rows=rows, hidden=part.hidden, is_inside=is_inside, more=more)
    return asked.tagged(answer, tag)


def session_turns(asked: Asked) -> Response:
    """Return a page of the list of turns, as HTML."""
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
    ]
    return ShownTurn(
        number=turn.number,
        address=event_address(uid, turn.event_uid),
        seq=turn.seq,
        last=turn.last,
        title=turn.title or BEFORE_FIRST_PROMPT,
        facts=" · ".join(fact for fact in facts if fact),
        share=round(48 * turn.microdollars / dearest, 1),
        is_left=turn.is_left,
    )


def session_outline(asked: Asked) -> Response:
    """Return the outline of a session as JSON, for the scripts of the map and of the keyboard."""
    found = session_of(asked)
    outline = asked.site.outline(asked.memory, found.session_uid, found.revision)
    return asked.tagged(asked.json(outline.to_dict()), f"o{outline.revision}")


def find_in_session(asked: Asked) -> Response:
    """Return the events of a session that have all words of ``q``, as JSON: their ids and seqs,
    and how many there are."""
    found, text = session_of(asked), asked.query.get("q", "")
    if not text.strip():
        return asked.json({"hits": [], "total": 0, "total_exact": True})
    results = asked.memory.search(text, session=found.session_uid, limit=MOST_FOUND)
    hits = [
        {"event_uid": hit.event_uid, "seq": hit.seq} for hit in results.hits if hit.seq is not None
    ]
    hits.sort(key=lambda hit: hit["seq"] or 0)
    return asked.json({"hits": hits, "total": results.total, "total_exact": results.total_exact})
