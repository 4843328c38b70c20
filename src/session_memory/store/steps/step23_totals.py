"""Step 23: an index that counts the sessions of each agent without reading the sessions.

The time comes first, so that only this count uses the index. If the agent came first, SQLite would
use the index for every statement that names an agent. That would be slow, because nearly all
sessions may be of one agent.
"""

SQL = """
create index sessions_by_flavor on sessions (ingested_at, flavor, relation);
"""
