"""Translate one line of an aider history into one record.

A history has three kinds of messages. In what a person typed, each line begins with ``#### ``. In
what aider says, the first line begins with ``> ``. The lines of these two kinds end with two spaces
and a newline. Anything else is the model's answer, between blank lines. So the first line of a
message tells the kind of the message; the lines after it continue the message.
"""

import re
from zlib import crc32

import msgspec

from session_memory.adapters.aider.messages import (
    answer,
    cost_of_tokens,
    is_report,
    model_in,
    notice,
    prompt,
    tokens_used,
)
from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.json_records import new_record
from session_memory.adapters.local_times import local_time
from session_memory.core.text import escaped, one_line

_STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*\Z")
_FORM = "%Y-%m-%d %H:%M:%S"
_TYPED, _SAID = "#### ", "> "
ENDING = "  "
# Messages of aider that have several lines, and may follow an answer without a blank line.
_LONG_NOTICES = ("> Tokens: ", "> # ")


class AiderState(msgspec.Struct):
    """The state after a line, which the translation of the next line needs.

    - ``zone``: the time zone of the history, which was noted when it was first found.
    - ``session``: the id of the present session.
    - ``started``: when the present session started, as the log writes it.
    - ``twins``: how many sessions directly before the present one started in the same second.
    - ``message``: the kind of the present message.
    - ``is_open``: the last line of the present message did not end with two spaces.
    - ``end``: the offset at which the line ends.
    - ``model``: the model of the session.
    - ``reports``: the number of reports of tokens in the session.
    - ``tokens``: the last report of tokens, if its cost may be on the next line.
    """

    zone: str = ""
    session: str = ""
    started: str = ""
    twins: int = 0
    message: str = ""
    is_open: bool = False
    end: int = 0
    model: str = ""
    reports: int = 0
    tokens: str = ""


def from_text(
    ref: SourceRef, state: AiderState, offset: int, line: bytes | None, length: int
) -> Record:
    """Return the record of one line, and update ``state``."""
    state.zone = state.zone or ref.agent
    text = escaped((line or b"").decode("utf-8", "replace"))
    started = _STARTED.match(text)
    if started is not None:
        _begin(ref, state, started[1])
    record = new_record(offset, length, state.session or escaped(ref.session))
    record.follows = True
    blank = max(offset - state.end - 1, 0)
    state.end = offset + length
    if line is None:
        record.problem = "line too long"
        return record
    record.check = crc32(line)
    if started is not None:
        record.ts = local_time(started[1], _FORM, state.zone)
        record.cwd = str(ref.path.parent)
        record.events.append(NativeEvent("lifecycle", "system", one_line(text[2:]), "started"))
        state.message = ""
        return record
    kind = _kind(text, state, blank)
    if kind:
        state.message, state.tokens = kind, ""
        _MESSAGES[kind](text, record, state)
    elif state.tokens:
        cost_of_tokens(state.tokens, text, record, state.model, state.reports - 1)
    else:
        record.bookkeeping, record.continues = "line", True
        body = text.removeprefix(_TYPED) if state.message == "typed" else text
        record.text = "\n" * (blank + 1) + body.removesuffix(ENDING)
    state.is_open = not text.endswith(ENDING)
    return record


def _begin(ref: SourceRef, state: AiderState, started: str) -> None:
    state.twins = state.twins + 1 if started == state.started else 0
    state.started = started
    at = started.replace("-", "").replace(":", "").replace(" ", "T")
    twin = f".{state.twins + 1}" if state.twins else ""
    state.session = f"{escaped(ref.session)}-{at}{twin}"
    state.model, state.reports = "", 0


def _kind(text: str, state: AiderState, blank: int) -> str:
    """Return the kind of the message that a line begins; "" if the line continues the message
    before it. ``blank`` is the number of blank bytes before the line."""
    is_whole = text.endswith(ENDING)
    if text.startswith(_TYPED) and is_whole:
        return "" if state.message == "typed" and not blank else "typed"
    if text.startswith(_SAID):
        if is_whole or state.message != "answer" or text.startswith(_LONG_NOTICES):
            return "" if state.message == "said" and state.is_open and not is_whole else "said"
        return ""
    if state.message == "said" and (state.is_open or not blank):
        return ""
    return "" if state.message == "answer" else "answer"


def _typed(text: str, record: Record, state: AiderState) -> None:
    prompt(text.removeprefix(_TYPED).removesuffix(ENDING), record)


def _of_program(text: str, record: Record, state: AiderState) -> None:
    words = text.removeprefix(_SAID).strip()
    state.model = model_in(words) or state.model
    if is_report(words):
        tokens_used(words, record, state.model, state.reports)
        state.reports += 1
        state.tokens = "" if text.endswith(ENDING) else words
    else:
        notice(words, record)


def _answered(text: str, record: Record, state: AiderState) -> None:
    record.events.append(answer(text, state.model))


_MESSAGES = {"typed": _typed, "said": _of_program, "answer": _answered}
