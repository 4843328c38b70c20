"""Read the exit status of a command from the log that an agent is writing.

Some agents do not tell their hooks how a command ended, but have written it to the log of the
session by then: a line with the id of the call and ``"exit_code"``.
"""

import os

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from typing import Any

# Only this many bytes at the end of the log are read: the line of the call is one of the last.
READ = 1 << 20


def status_in_log(path: str, call: str) -> int | None:
    """The exit status of a call by its id; None if the log does not have it."""
    if not path or len(call) < 4:
        return None
    mark = call.encode()
    for line in reversed(_last_lines(path)):
        if mark in line and b'"exit_code"' in line:
            status = _status(line, call)
            if status is not None:
                return status
    return None


def _last_lines(path: str) -> "list[bytes]":
    try:
        # A pipe or a device would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return []
    try:
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, READ, max(0, size - READ)).splitlines()
    except OSError:
        return []
    finally:
        os.close(descriptor)


def _status(line: bytes, call: str) -> int | None:
    from json import loads

    try:
        value: Any = loads(line)
    except (ValueError, RecursionError):
        return None
    for key in ("payload", "item"):
        inner = value.get(key) if isinstance(value, dict) else None
        if not isinstance(inner, dict):
            break
        value = inner
    if not isinstance(value, dict) or call not in (value.get("id"), value.get("call_id")):
        return None
    status = value.get("exit_code")
    return status if isinstance(status, int) and not isinstance(status, bool) else None
