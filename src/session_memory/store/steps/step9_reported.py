"""Step 9: usage that a session only reports, because another session got the response.

``reported_for`` is null for a response that the session logged itself. For a reported one it is the
session that the usage counts for as long as no session logs the response itself, or 0 if the row of
another session that reports it counts instead.
"""

SQL = """
alter table usage add column reported_for {int};
create index usage_reported on usage (usage_key) where reported_for is not null;
create index usage_reported_for on usage (reported_for) where reported_for is not null;
"""
