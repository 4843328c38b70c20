"""Step 11: responses are found by their id and their time.

Thousands of sessions may have responses with the same id. The time tells them apart.
"""

SQL = """
drop index usage_by_key;
create index usage_by_key on usage (usage_key, ts);
"""
