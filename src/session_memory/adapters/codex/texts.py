"""Read only the texts of one line: the same texts that `translate` gives, but faster.

This reads calls, their outputs and messages. For any other line, and for one that is not as
expected, the caller uses `translate`.
"""

from collections.abc import Callable
from typing import Any

from session_memory.adapters.codex.calls import arguments_of, is_answered
from session_memory.adapters.codex.lines import CodexMessage, strict_kind
from session_memory.adapters.codex.messages import text_of_user_item
from session_memory.adapters.codex.outputs import text_of_output
from session_memory.adapters.codex.reading import text_of
from session_memory.adapters.codex.translate import CALLS, OUTPUTS, strict_payload
from session_memory.adapters.decoding import LONG_LINE, REFUSED
from session_memory.adapters.event_text import EventTexts, NoText, text_with_arguments


def texts(line: bytes) -> EventTexts | None:
    """Return the text and the arguments of each event of a line; None if only `translate` can read
    the line."""
    if len(line) > LONG_LINE:
        return None
    try:
        kind = strict_kind(line)
        if kind.type != "response_item" or kind.payload is None:
            return None
        read = _READ.get(kind.payload.type)
        return None if read is None else [read(strict_payload(line, kind.payload.type))]
    except (*REFUSED, NoText):
        return None


def _call(native: Any) -> tuple[str, object]:
    arguments = arguments_of(native)
    return text_with_arguments("", arguments), arguments


def _output(native: Any) -> tuple[str, object]:
    return text_of_output(native.output), None


def _message(native: CodexMessage) -> tuple[str, object]:
    if native.role != "user":
        return text_of(native.content), None
    text = text_of_user_item(native)
    if not text:
        raise NoText
    return text, None


_READ: dict[str, Callable[[Any], tuple[str, object]]] = {
    **{kind: _call for kind in CALLS if not is_answered(kind)},
    **dict.fromkeys(OUTPUTS, _output),
    "message": _message,
}
