"""The commands of ``session-memory archive``."""
