"""Tier 1: raw packs, events, usage, sources, problems; SQL beside its operation."""

from session_memory.store.store import Store, open_store

__all__ = ["Store", "open_store"]
