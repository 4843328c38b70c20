"""Find the errors in the output of a shell command.

Analysis and hooks both use this module. So an error gets the same line and the same fingerprint
when it happens (in a hook) and when its session is analyzed.
"""

import json
import re

from session_memory.learn.digest.error_lines import (
    ErrorLine,
    ends_with_failure,
    error_lines,
    hidden_errors,
    telling_line,
)
from session_memory.learn.digest.runner_lines import DIAGNOSTIC, MESSAGE

# If no line has the form of an error, the first line that is not about progress counts as the
# error, unless the output has more lines than this.
_SHORT = 25
# bun, mocha, pytest, jest, vitest, cargo: how many tests passed.
_TESTS_RAN = re.compile(
    r"^[\s=]*(?:Tests?:? +)?(?:test result: \w+\. |\d+ failed[,|; ]+)?"
    r"[1-9]\d* (?:pass|passed|passing)\b",
    re.MULTILINE,
)
_ASSERTION = re.compile(r"(?:\w+: )?(?:expect\(|[Ee]xpected\b|\w*Assert\w*)")
# Lines of a search result, a directory listing or a diff, and times. Such a line is never the
# error: a command prints it before it fails.
_FOUND = re.compile(
    r"[-+<>] |[^\s:]*:?\d+[:-](?!\d\d\b)|[-dlrwxst]{9,10}[@+.]?\s|[\d.,:%]+ ?(?:m?s|%)?$"
)
# The end of an output that shows whether the command failed, in characters and in lines.
_END, _LAST = 4_000, 2
# A person or the agent stopped the call. That is no error of the call.
_NO_ERROR = re.compile(
    r"""\s*(?:exit\ code\ \d+\s+)?(?:</?\w+>)?(?:error:\s*)?
    (?: sibling\ tool\ call\ errored | cancelled:\ parallel
      | \[?request\ interrupted | the\ user\ doesn'?t\ want | user\ rejected | user\ cancel
      | skipped\ due\ to\ (?:a\ )?queued | tool\ (?:call|use)\ (?:was\ )?(?:skipped|cancell?ed)
      | .{0,40}aborted\ by\ (?:the\ )?user | command\ was\ interrupted
      | interrupted\s*\Z )""",
    re.VERBOSE | re.IGNORECASE,
)


def was_stopped(text: str) -> bool:
    """Whether an output says that a person or the agent stopped the call."""
    return _NO_ERROR.match(text) is not None


def errors_in_output(text: str, *, failed: bool, masked: bool = True) -> list[ErrorLine]:
    """Return the errors in the output of a shell command.

    A pipe may hide a failure. So a command that did not fail has errors, too, if its text contains
    an exit status or clear errors of a check. Without ``masked``, secrets stay in the lines, which
    must not be kept or shown then.
    """
    text, status = _without_wrapping(text)
    if not failed and not status:
        return hidden_errors(text, masked=masked)
    found = error_lines(text, masked=masked)
    if found and found[0].grade < DIAGNOSTIC and _TESTS_RAN.search(text):
        # Tests that pass may print lines that look like errors, so only assertions count.
        return [one for one in found if _ASSERTION.match(one.text)]
    if found or text.count("\n") > _SHORT or _TESTS_RAN.search(text):
        # In a long output and in a test run, only a line with the form of an error counts. If there
        # is none, a filter may have cut off the error.
        return found
    line = telling_line(text, masked=masked)
    is_said = any(map(str.isalpha, line)) and not _FOUND.match(line)
    return [ErrorLine(line)] if is_said else []


def seems_failed(text: str) -> bool:
    """Whether the end of an output looks like that of a failed command.

    It is used where an agent logs no exit status.
    """
    if ends_with_failure(text):
        return True
    lines = [line for line in text[-_END:].splitlines() if line.strip()]
    found = error_lines("\n".join(lines[-_LAST:]), masked=False)
    return bool(found) and found[0].grade >= MESSAGE


def _without_wrapping(text: str) -> tuple[str, int]:
    """Return the output and the exit status of the command itself.

    Some agents log them inside the JSON of a script, or behind the message of a sandbox. The status
    is 0 if the text has none.
    """
    if (refused := _REFUSED.match(text[:_WRAPPED])) is not None:
        return _of_sandbox(text[refused.end() :]), 1
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


def _of_sandbox(text: str) -> str:
    """Return what a command printed. The text is what follows the message of a sandbox."""
    if (quoted := _STREAMS.findall(text)) and any(quoted):
        return "\n".join(one.replace("\\n", "\n").replace('\\"', '"') for one in quoted if one)
    out, found, err = text.partition(", stderr: ")
    return f"{out}\n{err}" if found else text


_WRAPPED = 4_000
# Codex before 2026: "failed in sandbox MacosSeatbelt with execution error: …".
_REFUSED = re.compile(
    r"(?:failed in sandbox[^:\n]*:\s*)?(?:sandbox denied exec error, exit code: \d+, stdout: "
    r"|(?:sandbox )?Denied \{ output: ExecToolCallOutput)"
)
_STREAMS = re.compile(r'StreamOutput \{ text: "((?:[^"\\]|\\.)*)"')
_STATUS = re.compile(r'"exit_code": ?(-?\d{1,10})')
_OUTPUT = re.compile(r'"output": ?("(?:[^"\\]|\\.)*")', re.DOTALL)
