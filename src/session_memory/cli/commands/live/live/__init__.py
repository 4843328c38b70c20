"""Look at the sessions of agent runtimes, and move them.

Every command takes the id of a session, or a beginning of it that only one has. Nothing is
ever deleted: what a rewind leaves behind and what a compaction folds is still there, and undo
brings it back.
"""
