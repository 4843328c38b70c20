"""Keeping the store within its bounds: evict, archive, restore, forget, and the lake beside it.

Nothing is dropped before it was understood and is safe elsewhere, except at the hard cap, and
then it is said.
"""
