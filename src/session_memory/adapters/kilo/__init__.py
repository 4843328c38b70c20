"""Kilo Code: since 7.0 a fork of opencode with the same database; before 7.0 an extension of VS
Code with two documents per task.

Evidence: docs/formats/kilo.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.editor_tasks.kinds import BOOKKEEPING
from session_memory.adapters.opencode import AGENT as OPENCODE

_HERE = __name__

AGENT = Agent(
    flavor="kilo",
    version=5,
    roots=lazy(f"{_HERE}.source:roots"),
    discover=lazy(f"{_HERE}.source:discover"),
    recognizes=lazy("session_memory.adapters.editor_tasks.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    rows=lazy("session_memory.adapters.opencode.source:rows"),
    bookkeeping=BOOKKEEPING | OPENCODE.bookkeeping,
    directories=("kilocode.kilo-code", ".kilo", ".kilocode"),
    resume_command=("kilo", "--session"),
    resumable_ids="ses_",
    decision_tools=OPENCODE.decision_tools,
    plan_tools=OPENCODE.plan_tools,
    instruction_files=("AGENTS.md", ".kilocode/rules"),
    hidden_kinds=frozenset({"say/no_output", "session/fork"}) | OPENCODE.hidden_kinds,
)
