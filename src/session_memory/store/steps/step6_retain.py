"""Step 6: the tables for evicted sources, pins, tombstones and masks.

They hold no content of sessions. A tombstone is the hash of a session's or source's identity.
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
