"""The commands of ``session-memory lake``."""
