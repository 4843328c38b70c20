"""Step 8: the newest sessions, and those of a title, are found without reading the others.

Of a title only the beginning is in the index: a B-tree of PostgreSQL takes no long keys.
"""

SQL = """
create index sessions_by_end on sessions (ended_at desc{nulls_last}, uid);
create index sessions_by_title on sessions (substr(lower(title), 1, 100));
"""
