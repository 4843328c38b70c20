"""Step 23: an index that counts the sessions of each agent without reading the sessions.

The time comes first, so that only this count uses it. Where a statement names an agent, SQLite
would prefer an index that begins with agents, though nearly all sessions may have the same.
"""

SQL = """
create index sessions_by_flavor on sessions (ingested_at, flavor, relation);
"""
