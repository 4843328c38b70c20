"""Qwen Code: one JSONL file for each session and each subagent, with lines linked by ``uuid``.

Up to 0.3, Qwen Code wrote one document per session, like Gemini CLI.

Evidence: docs/formats/qwen.md.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy
from session_memory.adapters.qwen.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="qwen",
    version=8,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".qwen",),
    directory_fits=lazy("session_memory.adapters.claude.layout:directory_fits"),
    resume_command=("qwen", "--resume"),
    instruction_files=("QWEN.md", "AGENTS.md"),
    decision_tools=frozenset({"ask_user_question", "exit_plan_mode"}),
    plan_tools=frozenset({"exit_plan_mode"}),
    hidden_kinds=HIDDEN,
    handoff=HandoffTarget(
        tested="0.24.4",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
