"""The skill log: one JSONL file for each session, one line for each call of a skill.

Evidence: docs/skills.md. A line holds the call, its attempts and its result. Lines have no links
between them, so each record follows the one before it.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.core.skills import FLAVOR

_HERE = __name__

AGENT = Agent(
    flavor=FLAVOR,
    version=3,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
)
