"""Amp: one document per thread, which is rewritten for each message.

Evidence: docs/formats/amp.md.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="amp",
    version=1,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.translate:read"),
    bookkeeping=frozenset({"head", "tail", "generation", "written again", "partial"}),
    # `amp` alone is the name of many directories.
    directories=("sourcegraph.amp",),
    resume_command=("amp", "threads", "continue"),
    instruction_files=("AGENTS.md", "AGENT.md"),
)
