"""List and check the archive of evicted sessions.

The archive is the directory archive/ beside the store, or archive_dir of [retention]. Each file is
a tar with a manifest, and contains packs as they were in the store.
"""
