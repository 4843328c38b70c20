"""The commands of ``session-memory lessons``, each in a file of its own."""
