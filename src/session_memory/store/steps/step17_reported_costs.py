"""Step 17: what the agent itself wrote that a response cost, in micro-dollars.

Null where the log has no such figure. It is kept beside the amount that is computed from prices,
and only the audit of costs reads it.
"""

SQL = """
alter table usage add column reported_cost {int};
"""
