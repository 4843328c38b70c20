"""Step 5: the tables for digests, error fingerprints and signals.

Their rows are kept when the logs of a session are evicted and when events are rebuilt. So they
refer to sessions by uid. A digest's ``body`` is JSON compressed with zstd; the other columns are
for queries over many sessions.

``sources.redacted_from`` is the first byte from which secrets were masked while collecting.
"""

SQL = """
alter table sources add column redacted_from {int};

create table digests (
    session_uid {text} not null unique,
    version {int} not null,
    revision {int} not null,
    prices {text} not null,
    flavor {text} not null,
    repo {text},
    relation {text},
    outcome {text} not null,
    started_at {int},
    ended_at {int},
    tokens {int} not null,
    microdollars {int} not null,
    unpriced_tokens {int} not null,
    basis {text} not null,
    directives {text} not null,
    body {blob} not null
){strict};
create index digests_by_end on digests (ended_at);

create table error_fingerprints (
    session_uid {text} not null,
    fingerprint {text} not null,
    tool {text},
    count {int} not null,
    sample {text} not null,
    event_uid {text} not null,
    tokens {int} not null,
    resolution {text},
    resolved_by {text} not null
){strict};
create index error_fingerprints_by_session on error_fingerprints{by_hash} (session_uid);
create index error_fingerprints_by_error on error_fingerprints{by_hash} (fingerprint);

create table signals (
    session_uid {text} not null,
    place {int} not null,
    flavor {text} not null,
    repo {text},
    type {text} not null,
    polarity {text} not null,
    locus {text} not null,
    magnitude {int} not null,
    detail {text} not null,
    tokens {int} not null,
    microdollars {int} not null,
    basis {text} not null,
    evidence {text} not null,
    at {int}
){strict};
create index signals_by_session on signals{by_hash} (session_uid);
"""
