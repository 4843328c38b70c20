"""Step 9: usage that a session only reports: another session got the response.

The log of a parent can repeat the usage of its subagents' responses. Such a row is a report.
``reported_for`` is the session for which the report counts, usually the parent; it is null if the
row is no report. When a session that logged the response itself is collected, that session's row
counts instead of the report. If two sessions report the same response, only one report counts, and
``reported_for`` of the other one is 0.
"""

SQL = """
alter table usage add column reported_for {int};
create index usage_reported on usage (usage_key) where reported_for is not null;
create index usage_reported_for on usage (reported_for) where reported_for is not null;
"""
