"""goose: a SQLite database with all sessions; old releases wrote a JSONL file for each session.

Evidence: docs/formats/goose.md. Each session is a source. A line of this source is a row of the
database as a sync found it.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="goose",
    version=3,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    rows=lazy(f"{_HERE}.source:rows"),
    bookkeeping=frozenset({"session", "message", "usage", "usage_ledger"}),
    resume_command=("goose", "session", "--resume", "--session-id"),
    instruction_files=("AGENTS.md",),
)
