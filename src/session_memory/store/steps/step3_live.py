"""Step 3: the tables for live sessions.

Messages are in lanes: lists that only grow at their end. The path of a session is its lane plus the
lanes that it continues, each up to some message. An append updates the session's row, so long
values are in the separate table ``live_settings``. These tables cannot be rebuilt from others.
"""

SQL = """
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
