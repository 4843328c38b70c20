"""Step 21: which files each session read and changed, and how often.

These counts do not depend on prices or on a time zone, so they have a set of figures of their own.
"""

SQL = """
create table session_files (
    set_id {int} not null,
    session_id {int} not null,
    repo {text},
    path {text} not null,
    reads {int} not null,
    edits {int} not null,
    writes {int} not null,
    other {int} not null,
    failed {int} not null,
    open {int} not null,
    last_at {int}
){strict};
create index session_files_by_session on session_files (session_id, set_id);
"""
