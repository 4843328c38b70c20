"""power-loop: a SQLite database of sessions, in the tables of releases 0.2 to 8.

Evidence: docs/formats/power_loop.md. A database has no lines, so `dump` makes one line for each
row, in the order in which the rows were inserted. A later dump begins with the same lines.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="power_loop",
    version=2,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    log_at=lazy(f"{_HERE}.layout:log_at"),
    history=lazy(f"{_HERE}.history:history"),
    histories=lazy(f"{_HERE}.history:histories"),
    settings=lazy(f"{_HERE}.settings:settings"),
    # Rows with a session's beginning and with the usage of an answer are no events.
    bookkeeping=frozenset({"sessions", "usage_rounds"}),
    dump=lazy(f"{_HERE}.dump:dump"),
)
