"""The state of a journal of Vibe from record to record: the time, open calls and usage so far."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_MOST_OPEN = 64
_BUCKETS = 3


class VibeState(msgspec.Struct):
    """What the adapter remembers after a record, to translate the next one.

    - ``at``: the last time in the journal.
    - ``turn``: the last turn that ended.
    - ``is_stopped``: a person stopped the present turn, whose end is not logged yet.
    - ``open``: the calls that have no result yet.
    - ``total``: the tokens of the session since its beginning: input, cached input and output.
    """

    at: int | None = None
    turn: str = ""
    is_stopped: bool = False
    open: dict[str, bool] = {}
    total: tuple[int, ...] = (0,) * _BUCKETS

    def call(self, call_id: str) -> None:
        bounded(self.open, _MOST_OPEN)[call_id] = True

    def add(self, used: list[int]) -> None:
        self.total = tuple(a + b for a, b in zip(self.total, used, strict=True))
