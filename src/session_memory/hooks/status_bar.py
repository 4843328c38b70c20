"""Print the status line without loading the command line, which takes longer than the answer.

An agent runs this after every message. An error is printed as the status line itself: agents show
nothing when the program fails.
"""

import os
import sys

from session_memory.render.text import safe

MOST_BYTES = 1 << 20


def run(place: str | None = None) -> int:
    """Read what the agent writes, and print its status line, with figures of the store
    ``place``."""
    try:
        print(safe(_line(place)))
    except Exception as error:
        if os.environ.get("SESSION_MEMORY_DEBUG"):
            raise
        print(f"session-memory: {safe(brief(error))}")
    return 0


def _line(place: str | None) -> str:
    from session_memory.config import default_store, load_config
    from session_memory.store import open_store
    from session_memory.views.statusline import parse_status, statusline

    status = parse_status(read_status())
    config = load_config()
    with open_store(place or default_store(lambda: config), create=False) as store:
        store.own_prices = lambda: config.prices
        return statusline(store, status, config.budget).text


def read_status() -> bytes:
    """Return what the agent wrote to standard input; nothing if a person started the command."""
    return b"" if sys.stdin.isatty() else sys.stdin.buffer.read(MOST_BYTES)


def brief(error: Exception) -> str:
    """An error in a few words."""
    from session_memory.core.errors import SessionMemoryError, StoreNotFound

    if isinstance(error, StoreNotFound):
        return "nothing collected yet"
    text = str(error) if isinstance(error, SessionMemoryError) else type(error).__name__
    return text.splitlines()[0][:80] if text else type(error).__name__
