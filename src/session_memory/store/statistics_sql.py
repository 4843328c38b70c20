"""The SQL statements of `statistics`. Their ``{placeholders}`` are filled by `statistics_parts`."""

from session_memory.store.statistics_parts import BANDS
from session_memory.store.usage import BUCKETS

FACETS = "select distinct flavor, repo, model from sessions order by flavor, repo, model"
USED_MODELS = "select name from names where id in (select distinct model from usage)"
SESSIONS = """
    select s.flavor, s.repo, {quarter:s.started_at}, count(*),
        sum(case when s.relation = 'subagent' then 1 else 0 end)
    from sessions s where {sessions} and {within:s.started_at}
    group by s.flavor, s.repo, 3
"""
PULSE = """
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
TOOLS = """
    select n.name, t.calls, t.results, t.failed from (
        select e.tool,
            sum(case when {tool_call:e} then 1 else 0 end) as calls,
            sum(case when {tool_result:e} then 1 else 0 end) as results,
            sum(case when {tool_result:e} and e.is_error = 1 then 1 else 0 end) as failed
        from events e join sessions s on s.id = e.session_id
        where ({tool_call:e} or {tool_result:e}) and {sessions} and {within:e}
        group by e.tool
    ) t left join names n on n.id = t.tool
"""
DURATIONS = """
    select n.name, e.duration_ms
    from events e join sessions s on s.id = e.session_id left join names n on n.id = e.tool
    where {tool_result:e} and e.duration_ms is not null and {sessions} and {within:e}
"""
# The outcome of a call: ``is_error`` of the next event with its id. If that event is another call
# (some agents use an id twice), the outcome is null.
OUTCOME = """
    (select case when {tool_result:r} {unless} then r.is_error end
     from events r
     where r.session_id = e.session_id and r.seq > e.seq and r.call_id = e.call_id
         and ({tool_result:r} or {tool_call:r})
     order by r.seq limit 1)
"""
FILES = """
    select f.repo, f.path, sum(case when f.outcome = 0 then 1 else 0 end),
        sum(case when f.outcome = 1 then 1 else 0 end),
        count(distinct f.session_id), max(f.ts)
    from (
        select s.repo, e.path, e.session_id, e.ts, {outcome} as outcome
        from events e join sessions s on s.id = e.session_id
        where {edit:e} and e.path is not null and {sessions} and {within:e}
    ) f
    group by f.repo, f.path
"""
CALLED = """
    select c.uid, count(*) from (
        select s.uid, {outcome_if_asked} as outcome
        from events e join sessions s on s.id = e.session_id
        where {tool_call:e} and e.call_id is not null and e.tool in (
            select id from names where {tools}
        )
    ) c where {ended} group by c.uid
"""
ENDED = {
    "ok": "c.outcome = 0",
    "failed": "c.outcome = 1",
    "open": "c.outcome is null",
    None: "1 = 1",
}
TESTS = """
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
RETRIED = """
    select n.name, count(*), sum(case when c.outcome = 0 then 1 else 0 end)
    from (
        select e.tool, {outcome} as outcome
        from events e join sessions s on s.id = e.session_id
        where {retry:e} and {tool_call:e} and {sessions} and {within:e}
    ) c left join names n on n.id = c.tool
    group by n.name
"""
RETRYING = """
    select count(distinct e.session_id) from events e join sessions s on s.id = e.session_id
    where {retry:e} and {sessions} and {within:e}
"""
# Who was waited for: the one who acted next. Events that nobody caused on purpose (titles,
# snapshots, the end of a turn) neither start nor end a wait.
WHO = """
    case when {user_msg:e} or {human_intervention:e} or {decision:e} then 'person'
        when {tool_result:e} then 'tools'
        when e.role = {assistant} and not {lifecycle:e} then 'model'
        when {error:e} or {retry:e} then 'model'
        when {lifecycle:e} and e.role = {user} then 'other' end
"""
# A wait is measured from the latest earlier time, so no time is counted twice if clocks jump. No
# event is later than the end of its session, so only sessions that ended in the period or after it
# are read.
WAITS = """
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
            where e.ts is not null and {sessions} and {ended}
        ) a where a.who is not null
    ) g
    where g.gap > 0 and {within:g.ts}
    group by g.flavor, g.repo, g.who
"""
SUMS = ", ".join(f"cast(sum(u.{name}) as bigint)" for name in BUCKETS)
USED = f"""
    select s.flavor, s.repo, n.name, count(*), count(distinct u.owner_id), {SUMS}
    from usage u join sessions s on s.id = u.owner_id join names n on n.id = u.model
    where {{owners}} and {{of_model}} and {{within:u}}
    group by s.flavor, s.repo, n.name
"""
CACHED = """
    select {quarter:u}, cast(sum(u.cache_read_tokens) as bigint),
        cast(sum(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens) as bigint)
    from usage u join sessions s on s.id = u.owner_id
    where {owners} and {of_model} and {within:u}
    group by 1
"""
# ``number`` counts the responses of the whole session, also those outside of the period. The usage
# of a turn that sums several responses is not the size of one context, so it is left out.
CONTEXTS = """
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
SIZES = f"""
    with contexts as materialized ({CONTEXTS})
    select case {{bands}} end, c.size from contexts c
    union all
    select {PEAKS}, max(c.size) from contexts c group by c.owner_id
    union all
    select {STEPS}, c.size - c.before from contexts c where c.size > c.before
    union all
    select {DROPS}, c.before - c.size from contexts c where c.size * 2 < c.before
"""
LONGEST = """
    select s.uid, s.title, s.flavor, s.repo, s.model, s.started_at, s.wall_clock_ms, s.turns,
        s.event_count, s.output_tokens
    from sessions s where {sessions} and {within:s.started_at} and s.wall_clock_ms > 0
    order by s.wall_clock_ms desc, s.uid {limit}
"""
