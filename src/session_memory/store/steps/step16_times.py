"""Step 16: indexes that find usage by its time, and evicted sessions.

So the cost of a month reads only that month. Every search counts the evicted sessions, which are
few among very many.
"""

SQL = """
create index usage_by_time on usage (ts);
create index sessions_evicted on sessions (id) where evicted_at is not null;
"""
