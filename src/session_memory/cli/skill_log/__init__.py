"""The commands of ``session-memory skill-log``, one in each file."""
