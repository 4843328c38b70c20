"""Make the sections models, cache and context of a statistics report."""

from session_memory.store.statistics_parts import BANDS
from session_memory.store.statistics_sql import DROPS, PEAKS, STEPS
from session_memory.store.usage import BUCKETS
from session_memory.views.stats.activity import hit_rate
from session_memory.views.stats.queries import StatsQueries, summed, total
from session_memory.views.stats.sections import (
    Band,
    Cache,
    CacheDay,
    ContextStats,
    ModelStats,
    Rows,
    Spread,
    first,
    rate,
)


def models(queries: StatsQueries, limit: int) -> Rows[ModelStats]:
    rows = []
    for name, (responses, sessions, *figures) in summed(
        queries.rows("used"), lambda row: str(row[2]), 3
    ).items():
        tokens = dict(zip(BUCKETS, figures, strict=True))
        rows.append(
            ModelStats(
                model=name,
                sessions=sessions,
                responses=responses,
                hit_rate=hit_rate(tokens),
                **tokens,
            )
        )
    rows.sort(key=lambda row: (-row.responses, row.model))
    return first(rows, limit)


def cache(queries: StatsQueries) -> Cache:
    tokens = dict(zip(BUCKETS, total(queries.rows("used"), 5, len(BUCKETS)), strict=True))
    read, written = tokens["cache_read_tokens"], tokens["cache_write_tokens"]
    uncached = tokens["input_tokens"]
    days = [
        CacheDay(day, some, sent, rate(some, sent))
        for day, some, sent in sorted(queries.rows("cached"))
    ]
    return Cache(read, written, uncached, read + written + uncached, hit_rate(tokens), days)


def context(queries: StatsQueries) -> ContextStats:
    spread = {place: Spread(*figures) for place, figures in queries.spreads("contexts").items()}
    bands = [
        Band(start, last, spread[place])
        for place, (start, last) in enumerate(BANDS)
        if place in spread
    ]
    drops = spread[DROPS].count if DROPS in spread else 0
    return ContextStats(bands, spread.get(PEAKS), spread.get(STEPS), drops)
