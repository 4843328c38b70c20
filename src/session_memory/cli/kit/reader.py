"""Noticing that nobody reads the output any more, for commands that wait."""

import select
import sys


def reader_is_gone() -> bool:
    """Whether the other end of standard output has been closed."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))
