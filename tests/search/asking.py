"""Questions as tests ask them: the view's answers, and the sessions and words in them."""

from typing import Any

from session_memory.core.time import parse_time
from session_memory.derive.bodies import Bodies
from session_memory.search import Filters, find_hits, parse
from session_memory.store import Store
from session_memory.views.search import Results, search

NOW = parse_time("2026-07-02T00:00:00.000Z")


def asked(store: Store, text: str, *, limit: int = 0, **filters: Any) -> Results:
    return search(store, text, Filters(**filters), now=NOW, limit=limit)


def said(store: Store, text: str, **filters: Any) -> list[str]:
    """What the events say that are found, in the order of the answer; a title as it is."""
    return [hit.snippet.text for hit in asked(store, text, **filters).hits]


def found(store: Store, text: str, **filters: Any) -> set[tuple[str, str | None]]:
    """Hits as ``(session, event)``, whatever their order."""
    return {(hit.session_uid, hit.event_uid) for hit in asked(store, text, **filters).hits}


def hits_as_given(store: Store, text: str) -> set[tuple[str, str | None]]:
    """As `found`, for the words as they are: nothing else is looked for instead."""
    bodies = Bodies(store)
    answer = find_hits(
        store,
        parse(text),
        Filters(),
        text_of=lambda hit: bodies.at(hit.source, hit.place, hit.length, hit.block).text,
        now=NOW,
        limit=0,
        expand=False,
    )
    return {(one.session.uid, one.hit.event_uid if one.hit else None) for one in answer.found}
