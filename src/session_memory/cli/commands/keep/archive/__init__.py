"""Look at the archive of evicted raw.

Files in the directory archive/ beside the store, or where [retention] archive_dir says. Each
is a plain tar with a manifest, and holds packs as they were in the store.
"""
