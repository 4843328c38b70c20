"""Mistral Vibe: one journal per session; versions before 3 wrote a log of messages.

Evidence: docs/formats/vibe.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.vibe.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="vibe",
    version=2,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".vibe",),
    resume_command=("vibe", "--resume"),
    provider="mistral",
    usage_note="does not log which model answered, so its tokens have no price",
    hidden_kinds=HIDDEN,
)
