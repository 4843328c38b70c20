"""Live sessions of our own store, as its reader gives them: one row is one line.

Evidence: docs/formats/live.md. There are no files, so nothing is discovered: ``collect`` hands
the lines over. Each line names its own place; an offset counts rows.
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
    # What a model call used belongs to its answer.
    bookkeeping=frozenset({"usage"}),
    # Any runtime may write a live session, with the tools of any agent.
    decision_tools=frozenset({"AskUserQuestion", "ExitPlanMode", "request_user_input"}),
    plan_tools=frozenset({"ExitPlanMode"}),
)
