"""opencode: a SQLite database of sessions, messages and parts; before 1.2 a tree of JSON files.

Evidence: docs/formats/opencode.md. Each session is a source. A line of this source is a message
with its parts, or another row of the session, as a sync found them.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy

_HERE = __name__

AGENT = Agent(
    flavor="opencode",
    version=4,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    rows=lazy(f"{_HERE}.source:rows"),
    bookkeeping=frozenset({"session", "message", "todo", "head", "tail", "generation"}),
    directories=(".opencode",),
    resume_command=("opencode", "--session"),
    decision_tools=frozenset({"question", "plan_exit"}),
    plan_tools=frozenset({"plan_exit"}),
    hidden_kinds=frozenset({"user/agent"}),
    handoff=HandoffTarget(
        tested="1.18.33",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
        import_command=("opencode", "import"),
    ),
)
