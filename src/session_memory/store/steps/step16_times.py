"""Step 16: usage is found by its time, so the cost of a month reads only that month. Evicted
sessions are few among very many, and every search counts them."""

SQL = """
create index usage_by_time on usage (ts);
create index sessions_evicted on sessions (id) where evicted_at is not null;
"""
