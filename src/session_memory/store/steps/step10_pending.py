"""Step 10: what a runtime says about its pending calls, in addition to the messages.

``pending`` is the value that the runtime gave. ``pending_seq`` is the message with the calls that
the value names, or null if the value names no call of the session.
"""

SQL = """
alter table live_settings add column pending {text};
alter table live_settings add column pending_seq {int};
"""
