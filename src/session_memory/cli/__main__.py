"""``python -m session_memory.cli``."""

from session_memory.cli import main

main(prog_name="session-memory")
