"""Return a page of a list of sessions with all that its rows show, and counts by field.

In a list of the newest sessions, a page begins after the last session of the page before it, so
every page takes the same time. With another order, a page begins at its number in the list.
"""

from heapq import nsmallest

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.pricing import Amount, session_amounts
from session_memory.store import Store
from session_memory.store.outlines import StripEvent, strip_events
from session_memory.store.session_pages import PageKey, SessionPages
from session_memory.views.dearest import dearest_listed
from session_memory.views.session_titles import best_titles
from session_memory.views.sessions import (
    Filter,
    conditions_of,
    folded_below,
    list_sessions,
)
from session_memory.views.work_pieces import LONG_GAP_MS, who_acted

PAGE = 50
STRIP = 44
_STRIP_EVENTS = 400
FACETS = {"repo": "repos", "outcome": "outcome", "flavor": "flavors", "model": "models"}
MOST_VALUES = 8


class PageRow(msgspec.Struct, frozen=True):
    """A session in a list. ``amount`` is its cost with subagents, ``subagents`` their number.

    ``strip`` has a letter for each of 44 parts of the session: who worked (``p`` person, ``m``
    model, ``t`` tools), as a capital letter if something failed. ``+`` and ``X`` are test runs that
    passed or failed."""

    session: Session
    title: str
    amount: Amount
    subagents: int
    strip: str


class SessionPage(msgspec.Struct, frozen=True):
    """A page of a list of sessions. ``next`` is the key of the following page; None on the last."""

    rows: list[PageRow]
    next: str | None


def session_page(
    store: Store,
    filters: Filter,
    *,
    sort: str = "newest",
    after: str | None = None,
    size: int | None = None,
) -> SessionPage:
    """Return the first ``size`` sessions, or those of the page whose key is ``after``."""
    pages, most = SessionPages(store.db), size or PAGE
    if sort == "newest" and filters.min_cost is None:
        key = None if after is None else _key(after)
        found = pages.newest_after(conditions_of(store, filters), key, most + 1)
        following = _key_after(found[most - 1]) if len(found) > most else None
    else:
        first = 0 if after is None else _place(after)
        if sort == "cost" and filters.folded and filters.min_cost is None:
            found = dearest_listed(store, filters, first + most + 1)[first:]
        elif sort == "cost" or filters.min_cost is not None:
            listed = list_sessions(store, filters, sort=sort, limit=first + most + 1).sessions
            found = listed[first:]
        else:
            conditions = conditions_of(store, filters)
            found = pages.from_place(conditions, sort, first, most + 1)
        following = f"{first + most}" if len(found) > most else None
    return SessionPage(rows_of(store, found[:most]), following)


def rows_of(store: Store, sessions: list[Session]) -> list[PageRow]:
    """Return a row for each of these sessions, in their order."""
    uids = [session.session_uid for session in sessions]
    members = folded_below(store, SessionPages(store.db), sessions)
    amounts = session_amounts(store, {*uids, *(one for some in members.values() for one in some)})
    titles, strips = best_titles(store, uids), strips_of(store, uids)
    return [
        PageRow(
            session,
            titles[uid],
            sum((amounts[one] for one in (uid, *members.get(uid, ()))), Amount()),
            len(members.get(uid, ())),
            strips[uid],
        )
        for uid, session in zip(uids, sessions, strict=True)
    ]


def facets(store: Store, filters: Filter) -> dict[str, list[tuple[str, int]]]:
    """Count the sessions with each value of a field: repository, outcome, agent and model.

    The filter for a field does not apply to the counts of that field; all other filters do. Each
    field has at most eight values, the most frequent.
    """
    pages = SessionPages(store.db)
    free = [name for name in FACETS if getattr(filters, name) is None]
    counted = pages.counts_of([FACETS[name] for name in free], conditions_of(store, filters))
    for name in FACETS.keys() - free:
        others = conditions_of(store, msgspec.structs.replace(filters, **{name: None}))
        counted |= pages.counts_of([FACETS[name]], others)
    return {
        name: nsmallest(MOST_VALUES, counted[column].items(), key=lambda pair: (-pair[1], pair[0]))
        for name, column in FACETS.items()
    }


def strips_of(store: Store, uids: list[str]) -> dict[str, str]:
    """Return the strip of each session: a letter for each part, as `PageRow` explains.

    It is empty without events.
    """
    found = strip_events(store.db, store.names, uids, _STRIP_EVENTS) if uids else {}
    return {uid: strip(found.get(uid, [])) for uid in uids}


def strip(events: list[StripEvent]) -> str:
    acted = [(who_acted(event.kinds, event.role), event) for event in events]
    named = [(who, event) for who, event in acted if who is not None]
    spans = _spans([event for _, event in named])
    known = [(who, event, took) for (who, event), took in zip(named, spans, strict=True)]
    if not known:
        return ""
    bounds = [
        (place * len(known) // STRIP, (place + 1) * len(known) // STRIP) for place in range(STRIP)
    ]
    # In a short session several places show the same event.
    parts = dict.fromkeys((first, max(last, first + 1)) for first, last in bounds)
    letters = {first: _letter(known[first:last]) for first, last in parts}
    return "".join(letters[first] for first, _ in bounds)


def _spans(events: list[StripEvent]) -> list[int]:
    """Return how long each event took: the milliseconds since the event before it, at least one
    and at most five minutes."""
    spans, latest = [], None
    for event in events:
        took = 1 if latest is None or event.ts is None else event.ts - latest
        spans.append(min(max(took, 1), LONG_GAP_MS))
        latest = event.ts if latest is None else max(latest, event.ts or latest)
    return spans


def _letter(part: list[tuple[str, StripEvent, int]]) -> str:
    if any("test_run" in one.kinds and "tool_result" in one.kinds for _, one, _ in part):
        failed = any("test_run" in one.kinds and one.is_error for _, one, _ in part)
        return "X" if failed else "+"
    times: dict[str, int] = {}
    for who, _, took in part:
        times[who[0]] = times.get(who[0], 0) + took
    most = max(sorted(times), key=lambda who: times[who])
    return most.upper() if any(one.is_error for _, one, _ in part) else most


def _key_after(session: Session) -> str:
    ended = "" if session.ended_at is None else str(parse_time(session.ended_at))
    return f"{ended},{session.session_uid}"


def _key(text: str) -> PageKey:
    ended, _, uid = text.partition(",")
    if ended and not (ended.lstrip("-").isdigit() and ended.isascii()):
        raise InvalidRecord("the page key is not one of ours", field="after")
    return PageKey(int(ended) if ended else None, uid)


def _place(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InvalidRecord("the page key is not one of ours", field="after")
    return int(text)
