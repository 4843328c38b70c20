"""Cline: one JSON document per session, which Cline rewrites for each message.

Evidence: docs/formats/cline.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.editor_tasks.kinds import BOOKKEEPING

_HERE = __name__

AGENT = Agent(
    flavor="cline",
    version=2,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".cline", "saoudrizwan.claude-dev"),
    resume_command=("cline", "--id"),
    instruction_files=("AGENTS.md", ".clinerules"),
    hidden_kinds=frozenset({"say/no_output"}),
    decision_tools=frozenset({"ask_question"}),
)
