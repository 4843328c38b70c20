"""Count the sessions that have hits of a search, by repository, outcome, agent and model."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.derive.bodies import Bodies
from session_memory.search import Filters
from session_memory.search.find import SearchAnswer, find_hits
from session_memory.search.query import parse
from session_memory.search.scores import ScoredHit
from session_memory.store import Store
from session_memory.store.hits import Hit
from session_memory.views.search import narrowed
from session_memory.views.session_pages import FACETS, MOST_VALUES

MOST_HITS = 2000
CLASS = "class"
"""The facet that counts hits by the class of their text, such as prompts. All other facets count
sessions."""

Counts = list[tuple[str, int]]


class HitFacets(msgspec.Struct, frozen=True):
    """For each field, its most frequent values and their numbers. If not ``is_all``, there are more
    hits than the best ``MOST_HITS``, and only these were counted."""

    fields: dict[str, Counts]
    is_all: bool


def hit_facets(
    store: Store, text: str, *, now: int, most: int = MOST_HITS, typed: bool = False
) -> HitFacets:
    """Count the best ``most`` hits of a search. ``typed``: somebody is still typing the query.

    The filter for a field does not apply to the counts of that field; all other filters do.
    """
    query = parse(text)
    bodies = Bodies(store)

    def text_of(hit: Hit) -> str:
        return bodies.at(hit.source, hit.place, hit.length, hit.block).text

    def find(fields: Iterable[tuple[str, str]]) -> SearchAnswer:
        filters = narrowed(store, Filters(), fields)
        return find_hits(store, query, filters, text_of=text_of, now=now, limit=most, typed=typed)

    every = find(query.fields)
    found: dict[str, Counts] = {}
    is_all = _is_all(every)
    for name in (*FACETS, CLASS):
        answer = every
        if any(field == name for field, _ in query.fields):
            answer = find(field for field in query.fields if field[0] != name)
            is_all = is_all and _is_all(answer)
        found[name] = _counts(name, answer.found)
    return HitFacets(found, is_all)


def _is_all(answer: SearchAnswer) -> bool:
    return answer.total_exact and answer.total == len(answer.found)


def _counts(name: str, hits: Sequence[ScoredHit]) -> Counts:
    if name == CLASS:
        counted = dict(Counter(one.name for one in hits))
    else:
        sessions: dict[str, set[int]] = {}
        for one in hits:
            value = _value(name, one)
            if value:
                sessions.setdefault(value, set()).add(one.session.id)
        counted = {value: len(_matching(name, value, sessions)) for value in sessions}
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_VALUES]


def _value(name: str, one: ScoredHit) -> str | None:
    if name == "model":
        # A search compares the model of the event, if it has one.
        return (one.hit.model if one.hit else None) or one.session.model
    value: str | None = getattr(one.session, name)
    return value


def _matching(name: str, value: str, sessions: dict[str, set[int]]) -> set[int]:
    """Return the sessions with hits that the filter ``name:value`` would find. A filter for a model
    also finds the models whose names contain the value."""
    if name != "model":
        return sessions[value]
    part = value.casefold()
    return set().union(*(some for other, some in sessions.items() if part in other.casefold()))
