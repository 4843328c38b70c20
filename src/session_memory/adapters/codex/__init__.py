"""Codex CLI: one JSONL file per thread, in three generations of lines.

Evidence: docs/formats/codex.md. Lines have no links between them, so each follows the one before.
What a line needs to know about earlier ones is saved in the cursor.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.codex.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="codex",
    version=1,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".codex",),
    resume_command=("codex", "resume"),
    provider="openai",
    decision_tools=frozenset({"request_user_input"}),
    hidden_kinds=HIDDEN,
    readable=lazy(f"{_HERE}.readable:readable"),
)
