"""List and check the archive of evicted sessions.

Retention evicts old sessions: it moves their logs to the archive. The archive is the directory
archive/NAME beside the store. NAME is the name of the store's file without .db. For a store on a
PostgreSQL server, the archive is a directory in ~/.session-memory/archive. The setting archive_dir
in [retention] names another directory. Each file in the archive is a tar archive with a manifest
and the compressed logs. Their compressed bytes are the same as in the store.
"""
