"""List and check the archive of evicted sessions.

Retention evicts old sessions: it moves their logs to the archive. The archive is the directory
archive/NAME beside the store, where NAME is that of the store's file without .db, unless the
setting archive_dir in [retention] names another. Each file in it is a tar archive with a manifest
and the compressed logs, which are the same bytes as they were in the store.
"""
