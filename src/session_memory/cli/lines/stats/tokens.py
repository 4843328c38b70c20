"""Statistics of models, caches and contexts as lines."""

from collections.abc import Iterator
from typing import Any

from session_memory.cli.kit.output import Column
from session_memory.cli.lines.bars import ChartSigns
from session_memory.cli.lines.charts import chart
from session_memory.cli.lines.stats.figures import Limit, more, numbers, share, sizes, trend
from session_memory.cli.lines.sync_summary import wrapped
from session_memory.views.figures import count, plural


def models_lines(models: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    columns = (
        Column("model", flexible=True),
        Column("responses", right=True),
        Column("out", right=True),
        Column("in", right=True),
        Column("read", right=True),
        Column("written", right=True),
        Column("cached", right=True),
        Column("sessions", right=True),
    )
    rows = [
        [
            row.model,
            count(row.responses),
            count(row.output_tokens),
            count(row.input_tokens),
            count(row.cache_read_tokens),
            count(row.cache_write_tokens),
            share(row.hit_rate),
            count(row.sessions),
        ]
        for row in models.rows
    ]
    yield from chart(
        columns, rows, limit, using, amounts=[row.output_tokens for row in models.rows]
    )
    yield from more(models, using)


def cache_lines(cache: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    if not cache.sent_tokens:
        return
    sentences = (
        f"{share(cache.hit_rate)} of {count(cache.sent_tokens)} tokens;"
        f" {count(cache.write_tokens)} written, {count(cache.uncached_tokens)} past the cache."
    )
    yield from wrapped(sentences).splitlines()
    if len(cache.days) > 1:
        yield trend("day by day", [day.hit_rate or 0 for day in cache.days], limit, using)


def context_lines(context: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    if not context.bands:
        return
    columns = (
        Column("response", right=True),
        Column("median", right=True),
        Column("95 %", right=True),
        Column("largest", right=True),
        Column("responses", right=True),
    )
    rows = [
        [numbers(band.first, band.last), *sizes(band.contexts), count(band.contexts.count)]
        for band in context.bands
    ]
    amounts = [band.contexts.median for band in context.bands]
    yield from chart(columns, rows, limit, using, amounts=amounts)
    sentences = []
    if context.peaks is not None:
        median, high, most = sizes(context.peaks)
        sentences.append(f"The largest of a session: {median}, 95 % up to {high}, at most {most}.")
    if context.growth is not None:
        sentences.append(f"Grows by {count(context.growth.median)} a response.")
    sentences.append(f"Fell to less than half {plural(context.drops, 'time')}.")
    yield from wrapped(" ".join(sentences)).splitlines()
