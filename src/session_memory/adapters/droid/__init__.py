"""Factory Droid: one JSONL file per session, and a settings file with the sums of its tokens.

Evidence: docs/formats/droid.md.
"""

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.documents import DOCUMENT_KINDS

_HERE = __name__

AGENT = Agent(
    flavor="droid",
    version=2,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=DOCUMENT_KINDS | {"session_start", "agent_turn_outcome", "tag"},
    directories=(".factory",),
    directory_fits=lazy(f"{_HERE}.layout:directory_fits"),
    resume_command=("droid", "--resume"),
    decision_tools=frozenset({"AskUser", "ExitSpecMode"}),
    plan_tools=frozenset({"ExitSpecMode"}),
    hidden_kinds=frozenset({"todo_state", "session_end"}),
)
