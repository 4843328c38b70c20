"""Count the hits of a search by day."""

from collections import Counter
from datetime import date, datetime

import msgspec

from session_memory.derive.bodies import Bodies
from session_memory.search import Filters
from session_memory.search.find import find_hits
from session_memory.search.query import parse
from session_memory.store import Store
from session_memory.store.hits import Hit
from session_memory.views.search import narrowed

MOST_HITS = 2000


class HitDays(msgspec.Struct, frozen=True):
    """The number of search hits on each day in local time. Only the best ``counted`` of ``total``
    hits were looked at. A hit without a time is on no day."""

    days: dict[date, int]
    counted: int
    total: int
    total_exact: bool

    @property
    def is_all(self) -> bool:
        return self.total_exact and self.counted == self.total


def hit_days(store: Store, text: str, *, now: int, most: int = MOST_HITS) -> HitDays:
    """Count the best ``most`` hits by day. A hit in a title is on the day its session ended."""
    query = parse(text)
    bodies = Bodies(store)

    def text_of(hit: Hit) -> str:
        return bodies.at(hit.source, hit.place, hit.length, hit.block).text

    filters = narrowed(store, Filters(), query.fields)
    answer = find_hits(store, query, filters, text_of=text_of, now=now, limit=most)
    days: Counter[date] = Counter()
    for one in answer.found:
        # A search with ``since:`` or ``until:`` compares the same times.
        session = one.session
        ts = session.ended_at if one.hit is None else one.hit.ts
        ts = session.started_at if ts is None else ts
        if ts is not None:
            days[datetime.fromtimestamp(ts / 1000).astimezone().date()] += 1
    return HitDays(dict(sorted(days.items())), len(answer.found), answer.total, answer.total_exact)
