"""Step 15: the names that people gave to sessions. The logs are not changed."""

SQL = """
create table given_names (
    session_uid {text} not null unique,
    name {text} not null,
    set_at {int} not null
){strict};
"""
