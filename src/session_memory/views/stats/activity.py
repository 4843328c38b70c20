"""Make the sections summary, activity, agents and repos of a statistics report."""

from session_memory.store.database import Row
from session_memory.store.usage import BUCKETS
from session_memory.views.stats.queries import StatsQueries, grouped, total
from session_memory.views.stats.sections import Activity, Day, Group, Rows, Summary, first, rate

PULSE = 10
_TOKENS = 5  # flavor, repo, model, responses, sessions, then the buckets


def summary(queries: StatsQueries) -> Summary:
    events, turns, completed, calls, results, failed, edits, retries, errors, undated = total(
        queries.places("pulse"), 2, PULSE
    )
    sessions, subagents = total(queries.places("sessions"), 2, 2)
    days = list(queries.days("pulse"))
    used = queries.rows("used")
    tokens = _tokens(used)
    return Summary(
        sessions=sessions,
        subagents=subagents,
        events=events,
        undated=undated,
        active_days=len(days),
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
        turns=turns,
        completed=completed,
        calls=calls,
        failed=failed,
        error_rate=rate(failed, results),
        edits=edits,
        retries=retries,
        api_errors=errors,
        responses=sum(row[3] for row in used),
        input_tokens=tokens["input_tokens"],
        output_tokens=tokens["output_tokens"],
        cache_read_tokens=tokens["cache_read_tokens"],
        cache_write_tokens=tokens["cache_write_tokens"],
        hit_rate=hit_rate(tokens),
    )


def activity(queries: StatsQueries, tz: str) -> Activity:
    started = queries.days("sessions")
    pulse = queries.days("pulse")
    nothing = [0] * PULSE
    days = []
    for day in sorted({*started, *pulse}):
        events, turns, completed, calls, _, failed, *_ = pulse.get(day, nothing)
        sessions = started.get(day, [0])[0]
        days.append(Day(day, sessions, turns, completed, calls, failed, events))
    return Activity(tz, days, queries.hours())


def agents(queries: StatsQueries, limit: int) -> Rows[Group]:
    return _groups(queries, 0, limit)


def repos(queries: StatsQueries, limit: int) -> Rows[Group]:
    return _groups(queries, 1, limit)


def _groups(queries: StatsQueries, column: int, limit: int) -> Rows[Group]:
    found = [queries.places(part) for part in ("sessions", "pulse", "tests")]
    found += [queries.rows(part) for part in ("used", "waits")]
    parts = [grouped(rows, column) for rows in found]
    names = {name for part in parts for name in part}
    groups = [_group(name, *(part.get(name, []) for part in parts)) for name in names]
    groups.sort(key=lambda group: (-group.events, group.name or ""))
    return first(groups, limit)


def _group(
    name: str | None,
    started: list[Row],
    pulse: list[Row],
    tested: list[Row],
    used: list[Row],
    waited: list[Row],
) -> Group:
    sessions, subagents = total(started, 2, 2)
    events, turns, _, calls, results, failed, edits, retries, *_ = total(pulse, 2, PULSE)
    runs, passed, broken = total(tested, 2, 3)
    tokens = _tokens(used)
    waits = {who: total(rows, 4, 1)[0] for who, rows in grouped(waited, 2).items()}
    return Group(
        name=name,
        sessions=sessions,
        subagents=subagents,
        events=events,
        turns=turns,
        calls=calls,
        failed=failed,
        error_rate=rate(failed, results),
        edits=edits,
        retries=retries,
        test_runs=runs,
        pass_rate=rate(passed, passed + broken),
        responses=sum(row[3] for row in used),
        output_tokens=tokens["output_tokens"],
        hit_rate=hit_rate(tokens),
        person_ms=waits.get("person", 0),
        model_ms=waits.get("model", 0),
        tools_ms=waits.get("tools", 0),
    )


def _tokens(used: list[Row]) -> dict[str, int]:
    return dict(zip(BUCKETS, total(used, _TOKENS, len(BUCKETS)), strict=True))


def hit_rate(tokens: dict[str, int]) -> float | None:
    """Return the share of the input tokens that were read from the cache."""
    read = tokens["cache_read_tokens"]
    return rate(read, read + tokens["input_tokens"] + tokens["cache_write_tokens"])
