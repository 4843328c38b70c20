"""Crush: a SQLite database in the directory ``.crush`` of each project.

Evidence: docs/formats/crush.md. Each session is a source. A line of it is a message, as it was when
a sync found it changed.
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
)
