"""Step 13: the tasks that people gave to sessions. An empty task says that a session has none."""

SQL = """
create table tasks (
    session_uid {text} not null unique,
    task_ref {text} not null,
    set_at {int} not null
){strict};
"""
