"""Values that every package of the project uses: records and their checks, ids, times, errors.

No module here reads or writes a log, a store or a setting.

Every other package of the project may import this one. This one imports none of them.
"""
