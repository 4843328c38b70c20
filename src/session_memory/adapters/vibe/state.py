"""What a record of a journal needs to know of the records before it."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_MOST_OPEN = 64
_BUCKETS = 3


class VibeState(msgspec.Struct):
    """``at`` is the last time that the journal told, ``turn`` the last turn that ended.

    ``open`` are the calls that have no result yet. ``total`` is what the session has used since its
    beginning: input, cached input and output.
    """

    at: int | None = None
    turn: str = ""
    open: dict[str, bool] = {}
    total: tuple[int, ...] = (0,) * _BUCKETS

    def call(self, call_id: str) -> None:
        bounded(self.open, _MOST_OPEN)[call_id] = True

    def add(self, used: list[int]) -> None:
        self.total = tuple(a + b for a, b in zip(self.total, used, strict=True))
