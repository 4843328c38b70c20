"""Step 1: the tables for collected sessions.

Kinds, roles, tools, models and native kinds repeat on every event. Each is stored once in
``names``, and other tables refer to it by number. Times are milliseconds since 1970, UTC.
"""

SQL = """
create table names (id {id}, name {text} not null{unique_name}){strict};

create table sources (
    id {id},
    uid {text} not null unique,
    host {text} not null,
    flavor {text} not null,
    role {text} not null,
    path {text} not null,
    home_path {text} not null,
    session {text} not null,
    agent {text} not null,
    generation {int} not null,
    superseded {int} not null,
    vanished {int} not null,
    adapter_version {int} not null,
    read_to {int} not null,
    cursor_state {text} not null,
    kept {int} not null,
    tail_hash {text} not null,
    size {int} not null,
    mtime_ns {int} not null,
    ctime_ns {int} not null,
    inode {int} not null,
    starts_at {int},
    lines {int} not null,
    bookkeeping {text} not null,
    lenient {int} not null,
    discovered_at {int} not null,
    ingested_at {int}
){strict};
create index sources_by_session on sources{by_hash} (session);

create table dictionaries (
    id {id},
    flavor {text} not null,
    body {blob} not null
){strict};

create table packs (
    source_id {int} not null references sources (id),
    start {int} not null,
    length {int} not null,
    hash {blob} not null,
    dictionary_id {int} references dictionaries (id),
    body {blob} not null
){strict};
create unique index packs_by_place on packs (source_id, start);

create table sessions (
    id {id},
    uid {text} not null unique,
    flavor {text} not null,
    native_id {text} not null,
    native_name {text},
    repo {text},
    domain {text},
    cwd {text},
    git_branch {text},
    model {text},
    started_at {int},
    ended_at {int},
    outcome {text} not null,
    outcome_evidence {text} not null,
    task_ref {text},
    title {text},
    parent_uid {text},
    relation {text},
    spawn_call_id {text},
    spawn_depth {int} not null,
    agent_version {text},
    host {text},
    facts {text} not null,
    input_tokens {int} not null,
    output_tokens {int} not null,
    cache_read_tokens {int} not null,
    cache_write_tokens {int} not null,
    cache_write_1h_tokens {int} not null,
    reasoning_tokens {int} not null,
    web_searches {int} not null,
    turns {int} not null,
    retries {int} not null,
    wall_clock_ms {int} not null,
    event_count {int} not null,
    own_records {int} not null,
    has_shared {int} not null,
    stale {int} not null,
    revision {int} not null,
    analyzed_revision {int},
    discovered_at {int} not null,
    ingested_at {int},
    analyzed_at {int},
    evicted_at {int},
    state {blob} not null
){strict};
create index sessions_by_parent on sessions{by_hash} (parent_uid);
create index sessions_stale on sessions (id) where stale = 1;

create table session_sources (
    session_id {int} not null references sessions (id),
    source_id {int} not null references sources (id)
){strict};
create unique index session_sources_both on session_sources (session_id, source_id);
create index session_sources_by_source on session_sources (source_id);

create table events (
    id {id},
    session_id {int} not null references sessions (id),
    seq {int} not null,
    ts {int},
    kind {int} not null,
    marks {int} not null,
    role {int} not null,
    tool {int},
    native_kind {int},
    model {int},
    parent_seq {int},
    branch {text},
    summary {text} not null,
    source_id {int} not null references sources (id),
    place {int} not null,
    length {int} not null,
    record {blob} not null,
    block {int} not null,
    call_id {text},
    response_id {text},
    path {text},
    tokens {int} not null,
    is_sidechain {int} not null,
    is_error {int} not null,
    duration_ms {int},
    exit_code {int}
){strict};
create unique index events_in_order on events (session_id, seq);
create index events_by_record on events{by_hash} (record);

create table copies (
    session_id {int} not null references sessions (id),
    seq {int},
    record {blob} not null,
    block {int} not null,
    source_id {int} not null references sources (id),
    place {int} not null,
    length {int} not null
){strict};
create index copies_by_session on copies (session_id);
create index copies_by_record on copies{by_hash} (record);

create table shares (
    session_id {int} not null references sessions (id),
    other_id {int} not null references sessions (id)
){strict};
create unique index shares_both on shares (session_id, other_id);

create table links (
    child_uid {text} not null,
    parent_id {int} not null references sessions (id),
    call_id {text} not null
){strict};
create index links_by_child on links{by_hash} (child_uid);
create index links_by_parent on links (parent_id);

create table usage (
    id {id},
    session_id {int} not null references sessions (id),
    owner_id {int} references sessions (id),
    usage_key {int} not null,
    usage_id {text} not null,
    seq {int} not null,
    ts {int},
    model {int} not null,
    speed {int},
    service_tier {int},
    input_tokens {int} not null,
    output_tokens {int} not null,
    cache_read_tokens {int} not null,
    cache_write_tokens {int} not null,
    cache_write_1h_tokens {int} not null,
    reasoning_tokens {int} not null,
    web_searches {int} not null
){strict};
create index usage_by_key on usage (usage_key);
create index usage_by_owner on usage (owner_id);
create index usage_counted_elsewhere on usage (session_id)
    where owner_id is null or owner_id <> session_id;

create table problems (
    source_id {int} not null references sources (id),
    place {int} not null,
    length {int} not null,
    reason {text} not null,
    detail {text} not null,
    noticed_at {int} not null
){strict};
create unique index problems_by_place on problems (source_id, place, reason);

create view event_view as
    select s.uid as session_uid, e.seq, e.ts, k.name as kind, r.name as role, t.name as tool,
           m.name as marks, e.summary, e.record, e.block, e.call_id, e.is_error, e.path, e.tokens
    from events e
    join sessions s on s.id = e.session_id
    join names k on k.id = e.kind
    join names r on r.id = e.role
    join names m on m.id = e.marks
    left join names t on t.id = e.tool;

create view usage_view as
    select s.uid as session_uid, u.usage_id, u.ts, n.name as model, u.input_tokens,
           u.output_tokens, u.cache_read_tokens, u.cache_write_tokens, u.cache_write_1h_tokens,
           u.reasoning_tokens, u.web_searches
    from usage u
    join sessions s on s.id = u.owner_id
    join names n on n.id = u.model;
"""
