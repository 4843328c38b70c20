"""Step 12: which live sessions were imported from another runtime, and how far.

``last_seq``, ``folds``, ``moves`` and ``usages`` are the rows that the import wrote. Once the
origin is collected (``is_collected``), these rows give no events: the origin's own log does.
``state`` has the places of the origin's records, so that later rows can refer to them.
"""

SQL = """
create table live_imports (
    session_key {int} not null unique references live_sessions (id),
    origin {text} not null,
    parent {text},
    is_collected {int} not null,
    last_seq {int} not null,
    folds {int} not null,
    moves {int} not null,
    usages {int} not null,
    steps {int} not null,
    digest {text} not null,
    state {text} not null
){strict};
create index live_imports_by_origin on live_imports (origin);
create index live_imports_by_parent on live_imports (parent);
"""
