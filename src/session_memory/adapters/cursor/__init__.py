"""Cursor: the transcripts that its agent writes as JSON lines; earlier versions wrote text.

Evidence: docs/formats/cursor.md. A transcript has no ids, no tokens, no model and no results.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="cursor",
    version=1,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=frozenset({"line"}),
    directories=(".cursor",),
    directory_fits=lazy(f"{_HERE}.layout:directory_fits"),
    resume_command=("cursor-agent", "--resume"),
    usage_note="logs no tokens, so its sessions are in no cost",
)
