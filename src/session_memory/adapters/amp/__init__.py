"""Amp: one JSON document per thread (session), which Amp rewrites for each message.

Evidence: docs/formats/amp.md.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="amp",
    version=2,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.translate:read"),
    bookkeeping=frozenset({"head", "tail", "generation", "written again", "partial"}),
    # A directory with the name `amp` may belong to many other programs.
    directories=("sourcegraph.amp",),
    resume_command=("amp", "threads", "continue"),
    instruction_files=("AGENTS.md", "AGENT.md"),
)
