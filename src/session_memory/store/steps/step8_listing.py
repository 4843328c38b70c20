"""Step 8: indexes that find the newest sessions, and sessions by title, without a full scan.

Only the start of a title is indexed, because PostgreSQL allows no long keys in a B-tree.
"""

SQL = """
create index sessions_by_end on sessions (ended_at desc{nulls_last}, uid);
create index sessions_by_title on sessions (substr(lower(title), 1, 100));
"""
