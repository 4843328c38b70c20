"""GitHub Copilot CLI: one file of events per session, subagents in the same file.

Evidence: docs/formats/copilot.md.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy
from session_memory.adapters.copilot.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="copilot",
    version=5,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".copilot",),
    resume_command=("copilot", "--resume"),
    instruction_files=("AGENTS.md", ".github/copilot-instructions.md"),
    decision_tools=frozenset({"ask_user", "exit_plan_mode"}),
    plan_tools=frozenset({"exit_plan_mode"}),
    hidden_kinds=HIDDEN,
    handoff=HandoffTarget(
        tested="1.0.102",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
