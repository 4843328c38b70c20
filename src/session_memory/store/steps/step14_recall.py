"""Step 14: the terms of each analyzed session, for ranking sessions by a question.

``recall_sessions`` numbers the sessions. ``terms`` has all terms of a session as compressed JSON,
so that they can be deleted again. ``asked_by`` is the session that started a subagent.

``recall_terms`` is read by term: ``place`` is the number of the term, followed by the number of the
session in its lower bits. So one range of the primary key has all sessions with a term. ``weight``
says how much the term counts in the session, and in which texts it stands.
"""

SQL = """
create table recall_sessions (
    id {id},
    session_uid {text} not null unique,
    asked_by {text},
    terms {blob} not null
){strict};
create index recall_subagents on recall_sessions (id, asked_by) where asked_by is not null;

create table recall_terms (
    place {id},
    weight {int} not null
){strict};
"""
