"""Live sessions, which runtimes write into the store itself: each row of a session is one line.

Evidence: docs/formats/live.md. There are no files to discover: ``collect`` reads the rows and
passes them to this adapter as lines. A cursor's offset counts rows.
"""

from session_memory.adapters.agent import (
    Agent,
    lazy,
    no_roots,
    no_sources,
    recognizes_nothing,
)

AGENT = Agent(
    flavor="live",
    version=2,
    roots=no_roots,
    discover=no_sources,
    recognizes=recognizes_nothing,
    read=lazy(f"{__name__}.source:read"),
    # A row with the usage of a model call is no event. Its usage belongs to the answer.
    bookkeeping=frozenset({"usage"}),
    # Any runtime may write a live session, with the tools of any agent.
    decision_tools=frozenset({"AskUserQuestion", "ExitPlanMode", "request_user_input"}),
    plan_tools=frozenset({"ExitPlanMode"}),
)
