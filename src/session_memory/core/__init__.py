"""Values only: records and their checks, ids, times, errors. Nothing here touches a file.

Everything else imports this room; it imports no other.
"""
