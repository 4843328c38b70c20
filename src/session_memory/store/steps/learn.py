"""Step 5: what was learned from sessions.

Tier 2: kept when a session's raw is evicted and when everything derived is built anew, so it names
sessions by their uid. A digest's ``body`` is JSON, packed with zstd; beside it stand the figures
that questions over many sessions need.

``redacted_from`` is the byte from which on a source was masked when it was collected, if it was.
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
