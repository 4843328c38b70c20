"""mycode: one directory per session; ``messages.jsonl`` in it is the log.

Evidence: docs/formats/mycode.md. A rewind refers to a position in the list of messages that were
visible at that moment. So the adapter follows this list from line to line and saves it in the
cursor.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="mycode",
    version=3,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    log_at=lazy(f"{_HERE}.layout:log_at"),
    history=lazy(f"{_HERE}.history:history"),
    directories=(".mycode",),
)
