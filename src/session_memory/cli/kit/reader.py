"""Notice that the reader of our output is gone, for commands that run until they are stopped."""

import select
import sys


def reader_is_gone() -> bool:
    """Whether standard output is a pipe whose other end has been closed."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in poll.poll(0))
