"""List and check the archive of evicted sessions.

The archive is the directory archive/ beside the store, unless the setting archive_dir in
[retention] names another. Each file is a tar with a manifest and the compressed logs, the same
bytes as in the store.
"""
