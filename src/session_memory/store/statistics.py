"""Statistics: what happened, counted by the database; each event and each response once.

An event belongs to the session that owns it, a response to the session it counts for. Moments are
grouped by quarters of an hour, which every time zone is made of. What a word like "call" means
here, `docs/stats.md` says.
"""

from collections.abc import Iterable

import msgspec

from session_memory.store.database import Database, Row
from session_memory.store.usage import BUCKETS

QUARTER_MS = 15 * 60 * 1000
# Division cuts towards zero on both databases: moments before 1970 are moved above it first.
_SHIFT = 100_000_000
CAP_MS = 30 * 60 * 1000
"""A wait is counted up to here; what is longer, nobody was waiting."""
BANDS = ((1, 1), (2, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, None))
"""First and last number of a response in its session, for the growth of contexts."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted: ``None`` asks for nothing, an empty tuple leaves nothing.

    ``models`` are those of sessions, and for responses their own. The period is
    ``since <= moment < until``; what has no time of its own has that of its session's start.
    """

    flavors: tuple[str, ...] | None = None
    repos: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None


_FACETS = "select distinct flavor, repo, model from sessions order by flavor, repo, model"
_USED_MODELS = "select name from names where id in (select distinct model from usage)"
_SESSIONS = """
    select s.flavor, s.repo, {quarter:s.started_at}, count(*),
        sum(case when s.relation = 'subagent' then 1 else 0 end)
    from sessions s where {sessions} and {within:s.started_at}
    group by s.flavor, s.repo, 3
"""
_PULSE = """
    select s.flavor, s.repo, {quarter:e}, count(*),
        sum(case when {user_msg:e} then 1 else 0 end),
        sum(case when {completion:e} and e.is_sidechain = 0
            and (s.relation is null or s.relation <> 'subagent') then 1 else 0 end),
        sum(case when {tool_call:e} then 1 else 0 end),
        sum(case when {tool_result:e} then 1 else 0 end),
        sum(case when {tool_result:e} and e.is_error = 1 then 1 else 0 end),
        sum(case when {edit:e} then 1 else 0 end),
        sum(case when {retry:e} then 1 else 0 end),
        sum(case when {error:e} and not {tool_result:e} then 1 else 0 end),
        sum(case when e.ts is null then 1 else 0 end)
    from events e join sessions s on s.id = e.session_id
    where {sessions} and {within:e}
    group by s.flavor, s.repo, 3
"""
_TOOLS = """
    select n.name, t.calls, t.results, t.failed from (
        select e.tool,
            sum(case when {tool_call:e} then 1 else 0 end) as calls,
            sum(case when {tool_result:e} then 1 else 0 end) as results,
            sum(case when {tool_result:e} and e.is_error = 1 then 1 else 0 end) as failed
        from events e join sessions s on s.id = e.session_id
        where ({tool_call:e} or {tool_result:e}) and {sessions} and {within:e}
        group by e.tool
    ) t left join names n on n.id = t.tool
    order by t.calls desc, t.results desc, n.name
"""
_RANKED = """
    select b.bucket, max(b.total),
        min(case when b.place * 2 >= b.total then b.amount end),
        min(case when b.place * 100 >= b.total * 95 then b.amount end),
        max(b.amount)
    from (
        select v.bucket, v.amount,
            row_number() over (partition by v.bucket order by v.amount) as place,
            count(*) over (partition by v.bucket) as total
        from ({amounts}) v
    ) b group by b.bucket
"""
_DURATIONS = """
    select n.name as bucket, e.duration_ms as amount
    from events e join sessions s on s.id = e.session_id left join names n on n.id = e.tool
    where {tool_result:e} and e.duration_ms is not null and {sessions} and {within:e}
"""
# The next event with the call's id: a result, or another call if the agent gives ids twice.
_OUTCOME = """
    (select case when {tool_result:r} {unless} then r.is_error end
     from events r
     where r.session_id = e.session_id and r.seq > e.seq and r.call_id = e.call_id
         and ({tool_result:r} or {tool_call:r})
     order by r.seq limit 1)
"""
_FILES = """
    select f.repo, f.path, sum(case when f.outcome = 0 then 1 else 0 end),
        sum(case when f.outcome = 1 then 1 else 0 end),
        count(distinct f.session_id), max(f.ts), count(*) over ()
    from (
        select s.repo, e.path, e.session_id, e.ts, {outcome} as outcome
        from events e join sessions s on s.id = e.session_id
        where {edit:e} and e.path is not null and {sessions} and {within:e}
    ) f
    group by f.repo, f.path
    order by 3 desc, 5 desc, f.path, f.repo {limit}
"""
_CALLED = """
    select c.uid, count(*) from (
        select s.uid, {outcome_if_asked} as outcome
        from events e join sessions s on s.id = e.session_id
        where {tool_call:e} and e.call_id is not null and e.tool in (
            select id from names where {tools}
        )
    ) c where {ended} group by c.uid
"""
_ENDED = {
    "ok": "c.outcome = 0",
    "failed": "c.outcome = 1",
    "open": "c.outcome is null",
    None: "1 = 1",
}
_TESTS = """
    select c.flavor, c.repo, {quarter:c.ts}, count(*),
        sum(case when c.outcome = 0 then 1 else 0 end),
        sum(case when c.outcome = 1 then 1 else 0 end)
    from (
        select s.flavor, s.repo, {moment:e} as ts, {outcome} as outcome
        from events e join sessions s on s.id = e.session_id
        where {test_run:e} and {tool_call:e} and {sessions} and {within:e}
    ) c
    group by c.flavor, c.repo, 3
"""
_RETRIED = """
    select n.name, count(*), sum(case when c.outcome = 0 then 1 else 0 end)
    from (
        select e.tool, {outcome} as outcome
        from events e join sessions s on s.id = e.session_id
        where {retry:e} and {tool_call:e} and {sessions} and {within:e}
    ) c left join names n on n.id = c.tool
    group by n.name order by 2 desc, n.name
"""
_RETRYING = """
    select count(distinct e.session_id) from events e join sessions s on s.id = e.session_id
    where {retry:e} and {sessions} and {within:e}
"""
# Who was to act while time went by: whoever acted then. What nobody did on purpose (titles,
# snapshots, the end of a turn) neither begins nor ends a wait.
_WHO = """
    case when {user_msg:e} or {human_intervention:e} or {decision:e} then 'person'
        when {tool_result:e} then 'tools'
        when e.role = {assistant} and not {lifecycle:e} then 'model'
        when {error:e} or {retry:e} then 'model'
        when {lifecycle:e} and e.role = {user} then 'other' end
"""
# Measured from the latest moment seen before: whatever clocks do, each moment is counted once.
_WAITS = """
    select g.flavor, g.repo, g.who, count(*),
        cast(sum(case when g.gap > :cap then :cap else g.gap end) as bigint),
        cast(sum(case when g.gap > :cap then g.gap - :cap else 0 end) as bigint)
    from (
        select a.flavor, a.repo, a.who, a.ts, a.ts - max(a.ts) over (
            partition by a.session_id order by a.seq
            rows between unbounded preceding and 1 preceding
        ) as gap
        from (
            select s.flavor, s.repo, e.session_id, e.seq, e.ts, {who} as who
            from events e join sessions s on s.id = e.session_id
            where e.ts is not null and {sessions}
        ) a where a.who is not null
    ) g
    where g.gap > 0 and {within:g.ts}
    group by g.flavor, g.repo, g.who
"""
_SUMS = ", ".join(f"cast(sum(u.{name}) as bigint)" for name in BUCKETS)
_USED = f"""
    select s.flavor, s.repo, n.name, count(*), count(distinct u.owner_id), {_SUMS}
    from usage u join sessions s on s.id = u.owner_id join names n on n.id = u.model
    where {{owners}} and {{of_model}} and {{within:u}}
    group by s.flavor, s.repo, n.name
"""
_CACHED = """
    select {quarter:u}, cast(sum(u.cache_read_tokens) as bigint),
        cast(sum(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens) as bigint)
    from usage u join sessions s on s.id = u.owner_id
    where {owners} and {of_model} and {within:u}
    group by 1
"""
# The number of a response and the one before it are those of the whole session, whatever part of
# it is asked for. A turn's sum over several responses is no context.
_CONTEXTS = """
    select p.owner_id, p.model, p.ts, p.size, p.number, p.before from (
        select u.owner_id, u.model, u.ts,
            u.input_tokens + u.cache_read_tokens + u.cache_write_tokens as size,
            row_number() over (partition by u.owner_id order by u.seq, u.usage_id) as number,
            lag(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens)
                over (partition by u.owner_id order by u.seq, u.usage_id) as before
        from usage u join sessions s on s.id = u.owner_id
        where {owners} and u.input_tokens + u.cache_read_tokens + u.cache_write_tokens > 0
            and not exists (
                select 1 from turn_totals t
                where t.session_id = u.session_id and t.usage_key = u.usage_key
            )
    ) p join sessions s on s.id = p.owner_id
    where {of_response} and {within:p}
"""
PEAKS, STEPS, DROPS = range(len(BANDS), len(BANDS) + 3)
_SIZES = f"""
    select case {{bands}} end as bucket, c.size as amount from contexts c
    union all
    select {PEAKS}, max(c.size) from contexts c group by c.owner_id
    union all
    select {STEPS}, c.size - c.before from contexts c where c.size > c.before
    union all
    select {DROPS}, c.before - c.size from contexts c where c.size * 2 < c.before
"""
_LONGEST = """
    select s.uid, s.title, s.flavor, s.repo, s.model, s.started_at, s.wall_clock_ms, s.turns,
        s.event_count, s.output_tokens
    from sessions s where {sessions} and {within:s.started_at} and s.wall_clock_ms > 0
    order by s.wall_clock_ms desc, s.uid {limit}
"""


class Statistics:
    """Questions about everything in a scope; every method is one statement."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kinds = _kinds(db)

    def facets(self) -> tuple[set[str], set[str], set[str]]:
        """Every flavor, repository and model there is."""
        rows = self._db.all(_FACETS)
        used = {str(row[0]) for row in self._db.all(_USED_MODELS)}
        flavors, repos, models = ({row[n] for row in rows if row[n]} for n in range(3))
        return flavors, repos, models | used

    def sessions(self, scope: Scope) -> list[Row]:
        """``(flavor, repo, quarter, sessions, subagents among them)`` by when they started."""
        return self._placed(_SESSIONS, scope, 2)

    def pulse(self, scope: Scope) -> list[Row]:
        """``(flavor, repo, quarter, events, prompts, completions, calls, results, failed results,
        edits, retries, errors that are no results, events without a time)``.

        Completions are those of turns, not of subagents.
        """
        return self._placed(_PULSE, scope, 2)

    def tools(self, scope: Scope) -> list[Row]:
        """``(tool, calls, results, failed results)``, most called first."""
        return self._all(_TOOLS, scope)

    def durations(self, scope: Scope) -> list[Row]:
        """``(tool, measured results, median, 95th percentile, longest)`` in milliseconds."""
        return self._all(_RANKED.format(amounts=_DURATIONS), scope)

    def files(self, scope: Scope, limit: int) -> list[Row]:
        """``(repo, path, edits, failed edits, sessions, last moment, files in all)``."""
        return self._all(_FILES, scope, limit=limit)

    def names(self) -> list[str]:
        """Every name that a tool, among other things, may have."""
        return [str(name) for (name,) in self._db.all("select name from names")]

    def called(self, tools: Iterable[str], state: str | None) -> dict[str, int]:
        """How many calls of some tools, or those that ended as ``state``, each session has."""
        given: dict[str, object] = {}
        sql = _CALLED.replace("{outcome_if_asked}", _OUTCOME if state else "0")
        parts = {**self._parts(Scope(), given), "unless": "", "ended": _ENDED[state]}
        parts["tools"] = _among("name", tools, "tool", given)
        return {str(uid): int(calls) for uid, calls in self._db.all(sql.format_map(parts), given)}

    def tests(self, scope: Scope) -> list[Row]:
        """``(flavor, repo, quarter, runs, passed, failed)``; what a person refused was no test."""
        return self._placed(_TESTS, scope, 2, unless="and not {human_intervention:r}")

    def retried(self, scope: Scope) -> list[Row]:
        """``(tool, calls tried again, succeeded then)``, most tried first."""
        return self._all(_RETRIED, scope)

    def sessions_with_retries(self, scope: Scope) -> int:
        return int(self._all(_RETRYING, scope)[0][0])

    def waits(self, scope: Scope) -> list[Row]:
        """``(flavor, repo, who, waits, milliseconds up to the cap, milliseconds beyond it)``."""
        return self._all(_WAITS, scope, cap=CAP_MS)

    def used(self, scope: Scope) -> list[Row]:
        """``(flavor, repo, model, responses, sessions, *buckets)``."""
        return self._all(_USED, scope)

    def cached(self, scope: Scope) -> list[Row]:
        """``(quarter, tokens read from a cache, tokens sent in all)``."""
        return self._placed(_CACHED, scope, 0)

    def contexts(self, scope: Scope) -> list[Row]:
        """``(what, how many, median, 95th percentile, largest)`` of the tokens of contexts.

        What is a place in ``BANDS``: responses by their number in their session; or ``PEAKS``: the
        largest of each session; ``STEPS``: growth from one response to the next; ``DROPS``: what
        went where one shrank to less than half.
        """
        return self._all(
            f"with contexts as materialized ({_CONTEXTS}) {_RANKED.format(amounts=_SIZES)}", scope
        )

    def longest(self, scope: Scope, limit: int) -> list[Row]:
        """``(uid, title, flavor, repo, model, started_at, wall_clock_ms, turns, events,
        output_tokens)``."""
        return self._all(_LONGEST, scope, limit=limit)

    # ------------------------------------------------------------ statements

    def _placed(self, sql: str, scope: Scope, place: int, unless: str = "") -> list[Row]:
        """Rows whose column ``place`` is a quarter of an hour, counted from 1970."""
        return [
            (*row[:place], None if row[place] is None else row[place] - _SHIFT, *row[place + 1 :])
            for row in self._all(sql, scope, unless=unless)
        ]

    def _all(
        self, sql: str, scope: Scope, *, limit: int = 0, unless: str = "", **params: int
    ) -> list[Row]:
        limited = f"limit {int(limit)}" if limit else ""
        # From the outside in: a part may hold parts of its own.
        for part, text in (
            ("{outcome}", _OUTCOME),
            ("{who}", _WHO),
            ("{unless}", unless),
            ("{limit}", limited),
            ("{bands}", _bands()),
        ):
            sql = sql.replace(part, text)
        given: dict[str, object] = dict(params)
        return self._db.all(sql.format_map(self._parts(scope, given)), given)

    def _parts(self, scope: Scope, given: dict[str, object]) -> dict[str, object]:
        """What stands for the ``{words}`` of a statement; the values go into ``given``."""
        owners = [
            _among("s.flavor", scope.flavors, "flavor", given),
            _among("s.repo", scope.repos, "repo", given),
        ]
        of_session = _among("s.model", scope.models, "model", given)
        of_model = of_session.replace("s.model", "(select name from names where id = u.model)")
        return {
            **self._kinds,
            "sessions": " and ".join([*owners, of_session]),
            "owners": " and ".join(owners),
            "of_model": of_model,
            "of_response": of_model.replace("u.model", "p.model"),
            "within": _Within(scope, given),
            "quarter": _Quarter(),
            "moment": _Moment(),
        }


def _bands() -> str:
    return " ".join(
        f"when c.number >= {first}{'' if last is None else f' and c.number <= {last}'} then {place}"
        for place, (first, last) in enumerate(BANDS)
    )


def _among(column: str, values: Iterable[str] | None, name: str, given: dict[str, object]) -> str:
    if values is None:
        return "1 = 1"
    named = {f"{name}_{place}": value for place, value in enumerate(values)}
    given.update(named)
    return f"{column} in ({', '.join(f':{key}' for key in named)})" if named else "1 = 0"


class _Moment:
    """``{moment:e}``: when ``e`` was, else when its session ``s`` began; columns as they are."""

    def __format__(self, of: str) -> str:
        return of if "." in of else f"coalesce({of}.ts, s.started_at)"


class _Within:
    """``{within:e}``: the moment of ``e`` lies in the period."""

    def __init__(self, scope: Scope, given: dict[str, object]) -> None:
        ends = {"since": (">=", scope.since), "until": ("<", scope.until)}
        self._ends = {name: sign for name, (sign, ms) in ends.items() if ms is not None}
        given.update({name: ms for name, (_, ms) in ends.items() if ms is not None})

    def __format__(self, of: str) -> str:
        moment = f"{_Moment():{of}}"
        return (
            " and ".join(f"{moment} {sign} :{name}" for name, sign in self._ends.items()) or "1 = 1"
        )


class _Quarter:
    """``{quarter:e}``: the quarter of an hour of its moment, moved up by ``_SHIFT``."""

    def __format__(self, of: str) -> str:
        return f"({_Moment():{of}} + {_SHIFT * QUARTER_MS}) / {QUARTER_MS}"


class _Kind:
    """``{edit:e}``: the event ``e`` is an edit, by its kind or one of its marks."""

    def __init__(self, numbers: list[int]) -> None:
        self._in = f"in ({', '.join(map(str, numbers)) or '-1'})"

    def __format__(self, alias: str) -> str:
        return f"({alias}.kind {self._in} or {alias}.marks {self._in})"


_KINDS = (
    *("user_msg", "completion", "tool_call", "tool_result", "edit", "retry", "error", "test_run"),
    *("human_intervention", "decision", "lifecycle"),
)


def _kinds(db: Database) -> dict[str, object]:
    """By word: marks are stored joined by commas, so a word may have many numbers."""
    numbers: dict[str, list[int]] = {kind: [] for kind in _KINDS}
    roles = {"assistant": -1, "user": -1}
    for number, name in db.all("select id, name from names"):
        for word in name.split(","):
            if word in numbers:
                numbers[word].append(number)
        if name in roles:
            roles[name] = number
    return {**{kind: _Kind(some) for kind, some in numbers.items()}, **roles}
