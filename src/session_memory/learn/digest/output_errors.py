"""The errors in the output of a shell command, as analysis stores them.

Analysis and hooks both ask here, so that an error has the same line and the same fingerprint while
it happens and afterwards.
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

# Without a telling line, the first line of a longer output says nothing.
_SHORT = 25
# bun, mocha, pytest, jest, vitest, cargo: how many tests passed.
_TESTS_RAN = re.compile(
    r"^[\s=]*(?:Tests?:? +)?(?:test result: \w+\. |\d+ failed[,|; ]+)?"
    r"[1-9]\d* (?:pass|passed|passing)\b",
    re.MULTILINE,
)
_ASSERTION = re.compile(r"(?:\w+: )?(?:expect\(|[Ee]xpected\b|\w*Assert\w*)")
# What a search or a list found, and times: a command may fail after it printed them.
_FOUND = re.compile(r"[^\s:]*:?\d+[:-](?!\d\d\b)|[-dlrwxst]{9,10}[@+.]?\s|[\d.,:%]+ ?(?:m?s|%)?$")
# The end of an output that shows whether the command failed, in characters and in lines.
_END, _LAST = 4_000, 2
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
    if found and found[0].grade < DIAGNOSTIC and _TESTS_RAN.search(text):
        # What tests print while they pass looks the same as an error.
        return [one for one in found if _ASSERTION.match(one.text)]
    if not found and text.count("\n") <= _SHORT and (line := telling_line(text, masked=masked)):
        found = [ErrorLine(line)] if not _FOUND.match(line) else []
    return found


def seems_failed(text: str) -> bool:
    """Whether an output without an exit status ends as that of a failed command does."""
    if ends_with_failure(text):
        return True
    lines = [line for line in text[-_END:].splitlines() if line.strip()]
    found = error_lines("\n".join(lines[-_LAST:]), masked=False)
    return bool(found) and found[0].grade >= MESSAGE


def _without_wrapping(text: str) -> tuple[str, int]:
    """The output and the exit status in the JSON of a script that ran a command for the agent."""
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
    """What a command printed, of a text that says first that a sandbox stopped it."""
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
