"""Values only: records and their checks, ids, times, errors. Nothing here reads or writes files.

Every other room may import this one. This one imports no other room.
"""
