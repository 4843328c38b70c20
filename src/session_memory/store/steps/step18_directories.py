"""Step 18: the directories where sessions worked are read from an index. Every sync looks there for
agents that keep their logs in repositories."""

SQL = """
create index sessions_by_directory on sessions{by_hash} (cwd);
"""
