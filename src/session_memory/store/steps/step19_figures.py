"""Step 19: stored sums, so that the cost of all sessions is read from a few rows.

A set of figures (``figure_sets``) was made with certain prices, for the days of a time zone. A
writer adds a row to ``figure_marks`` for each session that it changed: the figures of the session
are out of date. The first reader who needs them makes them again.

``session_spending`` has the usage of a session on a day under one rate. ``daily_spending`` sums it
over all sessions of a group; its rows for the same key add up. ``rate`` is the number of the rate
among those of its kind of usage.

Indexes find subagents, and sessions that wait for analysis.
"""

_FIGURES = """
    model {int} not null,
    speed {int} not null,
    tier {int} not null,
    rate {int} not null,
    records {int} not null,
    input_tokens {int} not null,
    output_tokens {int} not null,
    cache_read_tokens {int} not null,
    cache_write_tokens {int} not null,
    cache_write_1h_tokens {int} not null,
    reasoning_tokens {int} not null,
    web_searches {int} not null,
    dollars {int} not null,
    rest {int} not null
){strict};
"""

SQL = f"""
create table figure_sets (
    id {{id}},
    prices {{text}} not null,
    zone {{text}} not null,
    made_at {{int}} not null
){{strict}};

create table figure_marks (
    set_id {{int}} not null,
    session_id {{int}} not null
){{strict}};
create index figure_marks_by_session on figure_marks (set_id, session_id);

create table figure_groups (
    id {{id}},
    flavor {{text}} not null,
    repo {{text}},
    model {{text}},
    outcome {{text}} not null,
    is_subagent {{int}} not null
){{strict}};

create table session_spending (
    set_id {{int}} not null,
    session_id {{int}} not null,
    day {{int}} not null,
    group_id {{int}} not null,
{_FIGURES}
create index session_spending_by_session on session_spending (session_id, set_id);
create index session_spending_by_day on session_spending (set_id, day);

create table daily_spending (
    set_id {{int}} not null,
    day {{int}} not null,
    group_id {{int}} not null,
{_FIGURES}
create index daily_spending_by_day on daily_spending (set_id, day);

create table session_costs (
    set_id {{int}} not null,
    session_id {{int}} not null,
    microdollars {{int}} not null,
    unpriced_tokens {{int}} not null
){{strict}};
create index session_costs_by_session on session_costs (session_id, set_id);
create index session_costs_by_amount on session_costs (set_id, microdollars, session_id);

drop index digests_by_analysis;
create index digests_by_analysis on digests (analysis, analysis_release, prices, session_uid);
create index sessions_waiting on sessions (id)
    where evicted_at is null and (analyzed_revision is null or analyzed_revision <> revision);
create index sessions_subagents on sessions (parent_uid, uid) where relation = 'subagent';
"""
