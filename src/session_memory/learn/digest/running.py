"""Find the call whose output a poll shows.

Some agents give a command only a few seconds. Then the command goes on in the background, and later
calls (polls) ask for the rest of its output. The errors in that output are those of the command.
"""

import json
import re
from collections import deque
from typing import Any

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.digest.harmless import only_looks
from session_memory.learn.digest.steps import FinishedCall
from session_memory.learn.digest.texts import Texts

MOST_RECENT = 12
MOST_KNOWN = 200
# What agents print about a command that still runs, with the id by which it can be asked for.
_RUNNING = lazy_pattern(
    r"(?:running with (?:session|cell)|running in (?:the )?background(?: with)?|background task"
    r"|background process) ?(?:ID|id)?:? ?[\"'(]?(\w*\d\w*)|\"session_id\": ?(\d+)\s*[,}]"
)
_ASKED = lazy_pattern(
    r"[\"']?\b(?:session_id|cell_id|bash_id|shell_id|shellId|task_id|taskId)[\"']?\s*:\s*"
    r"[\"']?(\w*\d\w*)"
)
_HEAD = 2_000


def running_id(output: str) -> str | None:
    """Return the id of the command that still runs, by what an agent prints; else None."""
    ids = _ids(output)
    return ids[0] if len(ids) == 1 else None


def is_running(output: str) -> bool:
    """Whether an output says that its command still runs."""
    return bool(_ids(output))


def _ids(output: str) -> list[str]:
    ends = output if len(output) <= 2 * _HEAD else f"{output[:_HEAD]}\n{output[-_HEAD:]}"
    if "running" not in ends and "background" not in ends and "session_id" not in ends:
        return []
    return [one or other for one, other in _RUNNING.findall(ends)]


class RunningCalls:
    """Remembers the calls that a later poll may ask about."""

    def __init__(self) -> None:
        self._recent: deque[FinishedCall] = deque(maxlen=MOST_RECENT)
        self._known: dict[str, FinishedCall] = {}
        # The call before the poll, if it may still run.
        self._last: FinishedCall | None = None

    def started(self, finished: FinishedCall) -> None:
        """Remember a call that started a command. The call has a result, but the command may still
        run. Polls, which ask for the rest of an output, go to `asked_by`."""
        self._last = None
        if finished.is_shell and not finished.failed and finished.result.exit_code is None:
            self._recent.append(finished)
            self._last = finished

    def asked_by(self, poll: FinishedCall, texts: Texts) -> FinishedCall:
        """Return the call that started the command, with the output that the poll got.

        It is the call whose output has the id that the poll asks for. Some logs do not show that
        id; then it is the call right before the first poll. If neither is known, return the poll.
        """
        text, given = texts.call(poll.call)
        ids = set(_ASKED.findall(f"{text}\n{_as_text(given)}"))
        if len(ids) != 1:
            return poll
        (wanted,) = ids
        if (found := self._known.get(wanted)) is None:
            found = next((one for one in reversed(self._recent) if _has(one, wanted, texts)), None)
            found = found or self._last
            if found is None or (found is self._last and only_looks(found)):
                return poll
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[wanted] = found
        return FinishedCall(found.call, found.kinds, poll.result, found.turn)


def _has(started: FinishedCall, wanted: str, texts: Texts) -> bool:
    return running_id(texts.output(started.result)) == wanted


def _as_text(given: Any) -> str:
    return given if isinstance(given, str) else re.sub(r"\s+", " ", json.dumps(given, default=str))
