"""Kimi Code, and the older kimi-cli: one log for each agent of a session.

Evidence: docs/formats/kimi.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.kimi.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="kimi",
    version=2,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=BOOKKEEPING,
    directories=(".kimi-code", ".kimi"),
    directory_fits=lazy(f"{_HERE}.layout:directory_fits"),
    resume_command=("kimi", "--session"),
    provider="moonshotai",
    decision_tools=frozenset({"AskUserQuestion", "ExitPlanMode"}),
    plan_tools=frozenset({"ExitPlanMode"}),
    hidden_kinds=HIDDEN,
)
