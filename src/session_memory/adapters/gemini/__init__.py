"""Gemini CLI: one file per session. Gemini CLI writes a message again when its calls have ended.

Evidence: docs/formats/gemini.md.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy

_HERE = __name__

AGENT = Agent(
    flavor="gemini",
    version=10,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=frozenset(
        {"header", "head", "tail", "generation", "$set", "functionResponse", "written again"}
    ),
    directories=(".gemini",),
    keeps_days=lazy(f"{_HERE}.layout:keeps_days"),
    resume_command=("gemini", "--resume"),
    instruction_files=("GEMINI.md",),
    provider="google",
    model_prefix="gemini-",
    decision_tools=frozenset({"ask_user", "exit_plan_mode"}),
    plan_tools=frozenset({"exit_plan_mode"}),
    hidden_kinds=frozenset({"user/session_context", "$set/messages", "info", "warning"}),
    handoff=HandoffTarget(
        tested="0.61.0",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
