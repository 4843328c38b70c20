"""Step 9: usage that a session only reports, because another session got the response.

``reported_for`` is null for a response that the session logged itself. For a reported response it
is the session that the report counts for. The report counts until a session is collected that
logged the response itself. If two sessions report the same response, one report counts, and
``reported_for`` of the other one is 0.
"""

SQL = """
alter table usage add column reported_for {int};
create index usage_reported on usage (usage_key) where reported_for is not null;
create index usage_reported_for on usage (reported_for) where reported_for is not null;
"""
