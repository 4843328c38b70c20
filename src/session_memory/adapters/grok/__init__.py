"""Grok Build: one directory per session; ``updates.jsonl`` in it is the log.

Evidence: docs/formats/grok.md. To translate a line, a small state of the lines before it is needed:
which message continues, which calls are open, which subagents the turn has started. This state is
saved in the cursor.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy
from session_memory.adapters.grok.kinds import BOOKKEEPING, TIMELINE_BOOKKEEPING

_HERE = __name__

AGENT = Agent(
    flavor="grok",
    version=3,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    changes_noted=lazy(f"{_HERE}.changes:changes_noted"),
    bookkeeping=BOOKKEEPING | TIMELINE_BOOKKEEPING,
    directories=(".grok",),
    directory_fits=lazy(f"{_HERE}.layout:directory_fits"),
    resume_command=("grok", "--resume"),
    instruction_files=("GROK.md", "AGENTS.md", "AGENTS.override.md"),
    provider="x-ai",
    hidden_kinds=frozenset({"turn_completed"}),
    handoff=HandoffTarget(
        tested="1.0.41",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
