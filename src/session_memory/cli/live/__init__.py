"""The commands of ``session-memory live``, one in each file."""
