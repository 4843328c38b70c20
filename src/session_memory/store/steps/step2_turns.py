"""Step 2: logged totals of turns, and the facts of a session by their source.

Some agents log usage per turn and include the turn's subagents. ``turn_totals`` keeps the logged
figures; ``usage`` holds what the turn used itself. Facts came from one document before; now they
are stored by the source that stated them.
"""

SQL = """
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
