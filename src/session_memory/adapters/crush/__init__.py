"""Crush: a SQLite database in the directory ``.crush`` of each project.

Evidence: docs/formats/crush.md. Each session is a source. A line of this source is a message, or
the row of the session, as a sync found it.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="crush",
    version=1,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    outside=lazy(f"{_HERE}.layout:outside"),
    rows=lazy(f"{_HERE}.source:rows"),
    bookkeeping=frozenset({"session", "message"}),
    directories=(".crush",),
    resume_command=("crush", "--session"),
    decision_tools=frozenset({"question"}),
    usage_note="logs no tokens, so its sessions are in no cost",
)
