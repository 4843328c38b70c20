"""``python -m session_memory.cli`` runs the command ``session-memory``."""

from session_memory.cli import main

main(prog_name="session-memory")
