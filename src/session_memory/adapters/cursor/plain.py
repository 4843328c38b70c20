"""Translate one line of an old transcript of Cursor, which is plain text, into one record.

- A line ``user:`` or ``assistant:`` (or ``A:``) begins what the person or the model said.
- A prompt is between ``<user_query>`` and ``</user_query>``.
- ``[Thinking]`` begins a thought, which ends at a blank line.
- ``[Tool call] NAME`` begins a call. Its arguments follow on lines that begin with two spaces.
- ``[Tool result] NAME`` begins the result of a call.
"""

import re
from zlib import crc32

import msgspec

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.cursor.prompts import time_in
from session_memory.adapters.cursor.translate import record_of
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

_SPEAKER = re.compile(r"(user|assistant|A):\s*\Z")
_MARK = re.compile(r"\[(Thinking|Tool call|Tool result)\]\s?(.*)\Z", re.DOTALL)
_BEGIN, _END = "<user_query>", "</user_query>"


class PlainState(msgspec.Struct):
    """The state after a line, which the translation of the next line needs.

    - ``speaker``: who said the line, ``user`` or ``assistant``.
    - ``part``: the kind of part that the next line may continue; "" if it begins a new part.
    - ``in_query``: the line is in a prompt.
    - ``end``: the offset at which the line ends.
    - ``calls``: the number of calls so far, from which their ids are made.
    """

    speaker: str = ""
    part: str = ""
    in_query: bool = False
    end: int = 0
    calls: int = 0


def from_text(
    ref: SourceRef, state: PlainState, offset: int, line: bytes | None, length: int
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = record_of(ref, offset, length)
    blank = max(offset - state.end - 1, 0)
    state.end = offset + length
    if line is None:
        record.problem = "line too long"
        return record
    record.check = crc32(line)
    text = escaped(line.decode("utf-8", "replace"))
    if (speaker := _SPEAKER.match(text)) is not None and not state.in_query:
        state.speaker = "user" if speaker[1] == "user" else "assistant"
        state.part = ""
        record.bookkeeping = "line"
    elif state.speaker == "user":
        _users(text, record, state, blank, bool(ref.agent))
    else:
        _models(text, record, state, blank)
    return record


def _users(text: str, record: Record, state: PlainState, blank: int, is_subagent: bool) -> None:
    record.ts = time_in(text)
    begins, ends = _BEGIN in text, _END in text
    words = text.partition(_BEGIN)[2] if begins else text
    words = words.partition(_END)[0].strip() if ends else words
    if begins:
        state.in_query, state.part = True, ""
    kind = "query" if state.in_query else "injected"
    if ends:
        state.in_query = False
    if not words.strip() or words.strip() in (_BEGIN, _END):
        record.bookkeeping = "line"
    elif state.part == kind:
        _continue(words, record, blank)
    else:
        state.part = kind
        record.events.append(_prompt(words, kind, is_subagent))
    if ends:
        state.part = ""


def _prompt(words: str, kind: str, is_subagent: bool) -> NativeEvent:
    if kind == "query" and not is_subagent:
        return NativeEvent("user_msg", "user", one_line(words), "user", is_prompt=True, text=words)
    native = "user/subagent_prompt" if kind == "query" else "user/injected"
    return NativeEvent("lifecycle", "user", one_line(words), native, body=words)


def _models(text: str, record: Record, state: PlainState, blank: int) -> None:
    marked = _MARK.match(text)
    if marked is None and state.part and not _is_over(state.part, text, blank):
        _continue(text, record, blank)
        return
    what, words = (marked[1], marked[2].strip()) if marked is not None else ("", text)
    state.part = what or "answer"
    call = f"{record.session}@{state.calls}"
    match what:
        case "Thinking":
            event = NativeEvent(
                "thinking", "assistant", one_line(words), "assistant/thinking", body=words
            )
        case "Tool call":
            state.calls += 1
            tool = one_line(words) or "unknown"
            call = f"{record.session}@{state.calls}"
            event = call_event(call, tool, None, "assistant/tool_use", is_edit=is_edit_tool(tool))
            event.body = words
        case "Tool result":
            event = result_event(call, one_line(words), "user/tool_result", failed=False)
            event.text = words
        case _:
            event = NativeEvent("assistant_msg", "assistant", one_line(words), "assistant")
            event.body, event.ends_turn = words, True
    record.events.append(event)


def _is_over(part: str, text: str, blank: int) -> bool:
    """Whether a line without a mark begins an answer. If not, the line continues the ``part``
    before it. ``blank`` is the number of blank bytes before the line."""
    if part == "Tool call":
        return not text.startswith(" ")
    return part == "Thinking" and blank > 0


def _continue(text: str, record: Record, blank: int) -> None:
    record.bookkeeping, record.continues = "line", True
    record.text = "\n" * (blank + 1) + text
