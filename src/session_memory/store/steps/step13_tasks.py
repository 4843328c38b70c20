"""Step 13: the tasks that people gave to sessions. An empty one says that there is none."""

SQL = """
create table tasks (
    session_uid {text} not null unique,
    task_ref {text} not null,
    set_at {int} not null
){strict};
"""
