"""Finds the answer that a usage belongs to. Some runtimes log usage before the message, some
after."""

import msgspec

from session_memory.adapters.base import NativeUsage
from session_memory.adapters.cursor_state import StateText


class LastAnswer(msgspec.Struct, array_like=True):
    """The last answer. ``is_waiting``: its usage is not logged yet. ``used``: a usage whose answer
    is not logged yet."""

    is_waiting: bool = False
    used: NativeUsage | None = None


_text = StateText(LastAnswer)
saved, restored = _text.saved, _text.restored
