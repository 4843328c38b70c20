"""The errors in the output of a shell command, as analysis stores them.

Analysis and hooks both ask here, so that an error has the same line and the same fingerprint while
it happens and afterwards.
"""

import json
import re

from session_memory.learn.digest.error_lines import (
    ErrorLine,
    error_line,
    error_lines,
    hidden_errors,
)

# Without a telling line, the first line of a longer output says nothing.
_SHORT = 25
# A person or the agent stopped the call. That is no error of the call.
_NO_ERROR = re.compile(
    r"""\s*(?:exit\ code\ \d+\s+)?(?:</?\w+>)?(?:error:\s*)?
    (?: sibling\ tool\ call\ errored | cancelled:\ parallel
      | \[?request\ interrupted | the\ user\ doesn'?t\ want | user\ rejected | user\ cancel
      | .{0,40}aborted\ by\ (?:the\ )?user | command\ was\ interrupted )""",
    re.VERBOSE | re.IGNORECASE,
)


def was_stopped(text: str) -> bool:
    """Whether an output says that a person or the agent stopped the call."""
    return _NO_ERROR.match(text) is not None


def errors_in_output(text: str, *, failed: bool, masked: bool = True) -> list[ErrorLine]:
    """The errors of a failed command, or those that one printed although it "succeeded".

    Without ``masked``, secrets stay in them: such lines must not be kept or shown.
    """
    text, status = _without_wrapping(text)
    if not failed and not status:
        return hidden_errors(text, masked=masked)
    found = error_lines(text, masked=masked)
    if not found and text.count("\n") <= _SHORT and (line := error_line(text, masked=masked)):
        found = [ErrorLine(line)]
    return found


def _without_wrapping(text: str) -> tuple[str, int]:
    """The output and the exit status in the JSON of a script that ran a command for the agent."""
    if '"exit_code"' not in text[:_WRAPPED]:
        return text, 0
    status = next((int(one) for one in _STATUS.findall(text) if one != "0"), 0)
    outputs = []
    for quoted in _OUTPUT.findall(text[: 8 * _WRAPPED]):
        try:
            outputs.append(str(json.loads(quoted)))
        except ValueError:
            outputs.append(quoted)
    return "\n".join(outputs) or text, status


_WRAPPED = 4_000
_STATUS = re.compile(r'"exit_code": ?(-?\d{1,10})')
_OUTPUT = re.compile(r'"output": ?("(?:[^"\\]|\\.)*")', re.DOTALL)
