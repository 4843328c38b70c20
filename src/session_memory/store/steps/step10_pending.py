"""Step 10: what a runtime says about its pending calls, beside what the messages say.

``pending_seq`` is the message with the calls that the value names. It is null for a value that
names no call of the session.
"""

SQL = """
alter table live_settings add column pending {text};
alter table live_settings add column pending_seq {int};
"""
