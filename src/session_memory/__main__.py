"""``python -m session_memory`` is the command ``session-memory``."""

from session_memory.start import main

main()
