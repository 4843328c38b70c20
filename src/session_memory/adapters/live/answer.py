"""The state that matches each usage of a live session with its answer. Some runtimes log the usage
before the answer, some after it."""

import msgspec

from session_memory.adapters.base import NativeUsage
from session_memory.adapters.cursor_state import StateText


class LastAnswer(msgspec.Struct, array_like=True):
    """What the adapter remembers after a row, to translate the next one.

    ``is_waiting``: the usage of the last answer is not logged yet. ``used``: a usage whose answer
    is not logged yet.
    """

    is_waiting: bool = False
    used: NativeUsage | None = None


_text = StateText(LastAnswer)
saved, restored = _text.saved, _text.restored
