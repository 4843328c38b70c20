"""The tables, as a numbered list of steps; forward only, each recorded with its change.

Only ``packs``, ``dictionaries``, ``sources`` (their identity and cursor) and the watermarks of
``sessions`` hold anything that cannot be derived; every other row is rebuilt from the raw.
"""

import re

from session_memory.core.errors import NewerSchema, StoreError
from session_memory.store.database import Database

# Kinds, roles, tools, models and native kinds repeat on every event: they are stored once in
# ``names`` and as small integers elsewhere. Times are milliseconds since 1970, UTC.
_FIRST = """
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

# Agents that log usage per turn count a turn's subagents in; what each turn was logged with is
# kept beside what it used itself.
# Facts used to be those of one document; now everybody who speaks of a session is named.
_SECOND = """
create table turn_totals (
    session_id {int} not null references sessions (id),
    usage_key {int} not null,
    usage_id {text} not null,
    input_tokens {int} not null,
    output_tokens {int} not null,
    cache_read_tokens {int} not null,
    cache_write_tokens {int} not null,
    cache_write_1h_tokens {int} not null,
    reasoning_tokens {int} not null,
    web_searches {int} not null
){strict};
create index turn_totals_by_session on turn_totals (session_id, usage_key);

create table turn_children (
    session_id {int} not null references sessions (id),
    usage_key {int} not null,
    usage_id {text} not null,
    place {int} not null,
    child_uid {text} not null
){strict};
create index turn_children_by_session on turn_children (session_id, usage_key);
create index turn_children_by_child on turn_children{by_hash} (child_uid);

update sessions set facts = '{{"document": ' || facts || '}}' where facts <> '{{}}';
"""

# Live sessions: messages lie in lanes that only grow at their end; a session's path is its lane and
# those it was begun from, each up to a place. An append rewrites the session's row, so what is long
# about a session lies beside it. Nothing here can be derived from anything else.
_THIRD = """
create table live_sessions (
    id {id},
    session_id {text} not null unique,
    created_at {int} not null,
    updated_at {int} not null,
    model {text},
    status {text} not null,
    kind {text} not null,
    parent_session_id {text},
    detached_from {text},
    spawn_tool_call_id {text},
    spawn_depth {int} not null,
    lifecycle {text} not null,
    title {text},
    provider {text},
    cwd {text},
    api_base {text},
    forked_from {text},
    forked_at {int},
    lane_id {int} not null,
    head {int} not null,
    next_seq {int} not null,
    round_index {int} not null,
    send_index {int} not null,
    last_compact_seq {int} not null,
    fence {int} not null,
    lease_owner {text},
    lease_until {int} not null,
    revision {int} not null
){strict};
create index live_sessions_by_parent on live_sessions{by_hash} (parent_session_id);

create table live_settings (
    session_key {int} not null unique references live_sessions (id),
    system_prompt {text},
    config {text} not null,
    metadata {text} not null
){strict};

create table live_lanes (
    id {id},
    session_key {int} not null references live_sessions (id),
    base_lane {int} references live_lanes (id),
    base_seq {int} not null,
    base_at {int} not null,
    base_limit {int} not null
){strict};
create index live_lanes_by_session on live_lanes (session_key);

create table live_messages (
    id {id},
    lane_id {int} not null references live_lanes (id),
    seq {int} not null,
    stands_after {int},
    role {text} not null,
    name {text},
    content {text},
    blocks {text},
    tool_calls {text},
    tool_call_id {text},
    round_index {int},
    meta {text},
    body {blob},
    created_at {int} not null
){strict};
create unique index live_messages_in_order on live_messages (lane_id, seq);
create index live_messages_elsewhere on live_messages (lane_id, stands_after)
    where stands_after is not null;

create table live_keys (
    session_key {int} not null references live_sessions (id),
    append_key {blob} not null,
    seq {int} not null,
    count {int} not null
){strict};
create unique index live_keys_once on live_keys (session_key, append_key);

create table live_folds (
    id {id},
    session_key {int} not null references live_sessions (id),
    compact_seq {int} not null,
    note_lane {int} not null references live_lanes (id),
    note_seq {int} not null,
    from_seq {int} not null,
    to_seq {int} not null,
    members {text} not null,
    before_tokens {int},
    after_tokens {int},
    round_index {int},
    created_at {int} not null,
    undone_at {int}
){strict};
create unique index live_folds_in_order on live_folds (session_key, compact_seq);

create table live_moves (
    id {id},
    session_key {int} not null references live_sessions (id),
    kind {text} not null,
    from_lane {int} not null,
    from_head {int} not null,
    to_lane {int} not null,
    to_head {int} not null,
    created_at {int} not null,
    undone_at {int}
){strict};
create index live_moves_by_session on live_moves (session_key);

create table live_usage (
    id {id},
    session_key {int} not null references live_sessions (id),
    send_index {int} not null,
    round_index {int} not null,
    prompt_tokens {int},
    completion_tokens {int},
    total_tokens {int},
    cache_read_tokens {int},
    cache_write_tokens {int},
    model {text},
    created_at {int} not null
){strict};
create index live_usage_by_session on live_usage (session_key);

create table live_bodies (
    id {id},
    hash {blob} not null unique,
    length {int} not null,
    body {blob} not null
){strict};
"""

STEPS = (_FIRST, _SECOND, _THIRD)
NEWEST = len(STEPS)
TABLES = tuple(re.findall(r"^create table (\w+)", "".join(STEPS), re.MULTILINE))

_LEDGER = """
create table if not exists schema_steps (step {int} not null unique, applied_at {int} not null)
"""
_APPLIED = "select coalesce(max(step), 0) from schema_steps"
_RECORD = "insert into schema_steps (step, applied_at) values (:step, :now)"


def version(db: Database) -> int:
    """The number of the last step applied; 0 for an empty database."""
    return int(db.value(_APPLIED)) if db.has_table("schema_steps") else 0


def migrate(db: Database, now: int, steps: tuple[str, ...] = STEPS) -> list[int]:
    """Bring the database up to date; refuses one that a newer release has written."""
    have = version(db)
    if have > len(steps):
        raise NewerSchema(db.name, found=have, known=len(steps))
    if not have and db.is_foreign(TABLES):
        hint = "Name another place in SESSION_MEMORY_STORE."
        raise StoreError(f"{db.name} is a database of another program", hint)
    # Only now: a file that is not for us stays as it is, to the byte.
    if not db.is_read_only:
        db.ready()
    if have == len(steps):
        return []
    if have:
        db.backup_before(have + 1, now)
    applied = []
    with db.transaction():
        # Another process may have migrated while this one waited for the lock.
        db.execute(_LEDGER.format(**db.types))
        for step in range(int(db.value(_APPLIED)) + 1, len(steps) + 1):
            for statement in (steps[step - 1] + db.also.get(step, "")).split(";\n"):
                if statement.strip():
                    db.execute(statement.format(**db.types))
            db.execute(_RECORD, {"step": step, "now": now})
            applied.append(step)
    return applied
