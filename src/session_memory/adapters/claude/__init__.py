"""Claude Code: one JSONL file per session, one line per content block, lines linked by ``uuid``.

Evidence: docs/formats/claude.md. Lines are translated one by one. Questions that need the lines
around them are decided later, in `session_memory.derive.settle`.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy
from session_memory.adapters.claude.kinds import BOOKKEEPING, HIDDEN
from session_memory.adapters.claude.prompts import PERSONS_WORDS, PLAN

_HERE = __name__

AGENT = Agent(
    flavor="claude",
    version=5,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    texts=lazy(f"{_HERE}.texts:texts"),
    changes_noted=lazy(f"{_HERE}.changes:changes_noted"),
    bookkeeping=BOOKKEEPING,
    directories=(".claude",),
    worktrees=("/.claude/worktrees/",),
    directory_fits=lazy(f"{_HERE}.layout:directory_fits"),
    keeps_days=lazy(f"{_HERE}.layout:keeps_days"),
    resume_command=("claude", "--resume"),
    # On every resume, version 1 began a new file with a copy of the history.
    copies_are_resumes=lambda agent_version: agent_version.startswith("1."),
    instruction_files=("CLAUDE.md", "CLAUDE.local.md"),
    provider="anthropic",
    model_prefix="claude-",
    has_statusline=True,
    decision_tools=frozenset({"AskUserQuestion", "ExitPlanMode"}),
    plan_tools=frozenset({"ExitPlanMode"}),
    reason_follows=PERSONS_WORDS.strip(),
    hidden_kinds=HIDDEN,
    readable=lazy(f"{_HERE}.readable:readable"),
    preamble=PLAN,
    handoff=HandoffTarget(
        tested="2.1.325",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
