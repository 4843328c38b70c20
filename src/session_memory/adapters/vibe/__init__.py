"""Mistral Vibe: the journal of a session, and the messages of versions before 3.

Evidence: docs/formats/vibe.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.vibe.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="vibe",
    version=1,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".vibe",),
    resume_command=("vibe", "--resume"),
    provider="mistral",
    hidden_kinds=HIDDEN,
)
