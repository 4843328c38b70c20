"""Roo Code: an extension of VS Code, with two documents per task.

Evidence: docs/formats/roo.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.editor_tasks.kinds import BOOKKEEPING

_HERE = __name__

AGENT = Agent(
    flavor="roo",
    version=2,
    roots=lazy(f"{_HERE}.source:roots"),
    discover=lazy(f"{_HERE}.source:discover"),
    recognizes=lazy("session_memory.adapters.editor_tasks.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=("rooveterinaryinc.roo-cline", ".vscode-mock"),
    instruction_files=("AGENTS.md", ".roo/rules"),
    usage_note="does not log which model answered, so its tokens have no price",
    hidden_kinds=frozenset({"say/no_output"}),
)
