"""Live sessions of our own store, as its reader gives them: one row is one line.

Evidence: docs/formats/live.md. There are no files, so nothing is discovered: ``collect`` hands
the lines over. Each line names its own place; an offset counts rows.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.agent import Agent, lazy
from session_memory.adapters.base import SourceRef


def _no_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return []


def _no_sources(root: Path) -> Iterator[SourceRef]:
    return iter(())


AGENT = Agent(
    flavor="live",
    version=1,
    roots=_no_roots,
    discover=_no_sources,
    recognizes=lambda head: False,
    read=lazy(f"{__name__}.source:read"),
    # What a model call used belongs to its answer.
    bookkeeping=frozenset({"usage"}),
    # Any runtime may write a live session, with the tools of any agent.
    decision_tools=frozenset({"AskUserQuestion", "ExitPlanMode", "request_user_input"}),
    plan_tools=frozenset({"ExitPlanMode"}),
)
