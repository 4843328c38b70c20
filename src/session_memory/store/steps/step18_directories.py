"""Step 18: an index of the directories where sessions worked.

Every sync looks in these directories, because some agents keep their logs in repositories.
"""

SQL = """
create index sessions_by_directory on sessions{by_hash} (cwd);
"""
