"""Values that every room uses: records and their checks, ids, times, errors.

No module here reads or writes a log, a store or a setting.

Every other room may import this one. This one imports no other room.
"""
