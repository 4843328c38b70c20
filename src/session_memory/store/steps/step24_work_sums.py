"""Step 24: tables with sums for each day. Statistics then need a few rows, not all sessions.

``session_days`` has the UTC day on which a session began, and its first and last moment. A session
``is_long`` if it ended on a later day. ``work_sums`` has the figures of all sessions that began on
a day (``width`` 1), or in a span of ``width`` days. ``uncounted_days`` lists days without sums.

An index finds the longest sessions.
"""

SQL = """
create table session_days (
    set_id {int} not null,
    session_id {int} not null,
    day {int} not null,
    first_at {int},
    last_at {int},
    is_long {int} not null
){strict};
create index session_days_by_session on session_days (session_id, set_id);
create index session_days_by_day on session_days (set_id, day);
create index session_days_long on session_days (set_id, day) where is_long = 1;

create table work_sums (
    set_id {int} not null,
    width {int} not null,
    day {int} not null,
    part {text} not null,
    figures {blob} not null
){strict};
create index work_sums_by_day on work_sums (set_id, part, width, day);

create table uncounted_days (
    set_id {int} not null,
    day {int} not null
){strict};

create index sessions_by_length on sessions (wall_clock_ms desc, uid) where wall_clock_ms > 0;
"""
