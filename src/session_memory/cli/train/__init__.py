"""The commands of ``session-memory train``, one in each file."""
