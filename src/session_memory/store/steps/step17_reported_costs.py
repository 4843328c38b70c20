"""Step 17: what the agent itself wrote that a response cost, in micro-dollars.

Null where the log has no such figure. No total includes it: it is only compared with the amount
that is computed from prices.
"""

SQL = """
alter table usage add column reported_cost {int};
"""
