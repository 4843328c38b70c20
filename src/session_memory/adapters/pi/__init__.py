"""pi: one JSONL file per session, a tree of entries linked by ``id`` and ``parentId``.

Evidence: docs/formats/pi.md.
"""

from session_memory.adapters.agent import Agent, HandoffTarget, lazy

_HERE = __name__

AGENT = Agent(
    flavor="pi",
    version=6,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=frozenset({"session"}),
    directories=(".pi",),
    directory_fits=lazy(f"{_HERE}.layout:directory_fits"),
    resume_command=("pi", "--session"),
    hidden_kinds=frozenset(
        {
            "model_change",
            "thinking_level_change",
            "message/system",
            "custom",
            "label",
            "session_info",
            "usage",
        }
    ),
    handoff=HandoffTarget(
        tested="0.87.1",
        tool=lazy(f"{_HERE}.handoff:tool"),
        make=lazy(f"{_HERE}.handoff:make"),
    ),
)
