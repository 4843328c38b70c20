"""Step 6: what was evicted, what may not be, and what must never come back.

Nothing here says anything about what a session held: a tombstone is a hash of an identity.
"""

SQL = """
create table evicted_sources (
    source_id {int} not null unique references sources (id),
    file {text},
    digest {text} not null,
    bytes {int} not null,
    evicted_at {int} not null
){strict};

create table pins (
    session_uid {text} not null unique,
    pinned_at {int} not null,
    until {int}
){strict};

create table tombstones (
    key {text} not null unique,
    kind {text} not null,
    with_key {text} not null,
    forgotten_at {int} not null
){strict};

create table masks (
    source_id {int} not null references sources (id),
    start {int} not null,
    length {int} not null
){strict};
create unique index masks_by_place on masks (source_id, start);

create table retention_runs (
    id {id},
    ran_at {int} not null,
    report {text} not null
){strict};
"""
