"""Add up what each turn of a session used, from one prompt to the next."""

from collections.abc import Iterator

from session_memory.core.schema import Session, SessionEvent
from session_memory.core.time import parse_time
from session_memory.store import Store
from session_memory.views.spending import Spending
from session_memory.views.transcript_items import TurnTotals


class TurnCounter:
    """Adds up what the model used between two prompts."""

    def __init__(self, store: Store, session: Session, depth: int) -> None:
        self._spending = Spending(store, session.session_uid)
        self._depth = depth
        self._number = 0
        self._began: int | None = None
        self._last: int | None = None

    def before(self, seq: int, event: SessionEvent) -> Iterator[TurnTotals]:
        """Yield the totals of the turn that ends before ``event``, if the event is a prompt."""
        if event.is_a("user_msg"):
            yield from self._ended(seq)
            self._number += 1
            self._began = parse_time(event.ts) if event.ts else None
        elif event.ts:
            self._last = parse_time(event.ts)

    def rest(self) -> Iterator[TurnTotals]:
        yield from self._ended(None)

    def _ended(self, seq: int | None) -> Iterator[TurnTotals]:
        spent = self._spending.until(seq)
        if spent is None:
            return
        seconds = None
        if self._began is not None and self._last is not None and self._last >= self._began:
            seconds = (self._last - self._began) / 1000
        yield TurnTotals(
            depth=self._depth,
            number=self._number,
            cost=spent.cost,
            amount=spent.amount,
            seconds=seconds,
        )
