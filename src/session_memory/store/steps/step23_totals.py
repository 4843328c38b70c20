"""Step 23: an index that counts the sessions of each agent without reading the sessions."""

SQL = """
create index sessions_by_flavor on sessions (flavor, relation, ingested_at);
"""
