"""Codex CLI: one JSONL file per thread, in three generations of lines.

Evidence: docs/formats/codex.md. Lines have no links between them, so each record follows the one
before it. The state that is needed to translate the next line is saved in the cursor.
"""

import re

from session_memory.adapters.agent import Agent, HandoffTarget, lazy
from session_memory.adapters.codex.kinds import BOOKKEEPING, HIDDEN

_HERE = __name__

AGENT = Agent(
    flavor="codex",
    version=4,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    texts=lazy(f"{_HERE}.texts:texts"),
    bookkeeping=BOOKKEEPING,
    directories=(".codex",),
    resume_command=("codex", "resume"),
    provider="openai",
    decision_tools=frozenset({"request_user_input"}),
    hidden_kinds=HIDDEN,
    readable=lazy(f"{_HERE}.readable:readable"),
    # The prompt of a guardian: a subagent that reviews an action before it is run.
    preamble=re.compile(r"The following is the Codex agent history .*", re.DOTALL),
    handoff=HandoffTarget(
        tested="0.166.0",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
