"""Figures about all sessions are made in a thread of their own, not by a request.

That takes seconds over 100,000 sessions: after an update, with other prices, in another time zone,
and after many sessions were collected. Until then, requests count.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from session_memory.core.errors import SessionMemoryError
from session_memory.core.freed_memory import give_back_memory
from session_memory.memory import Memory
from session_memory.store.interrupting import interrupt
from session_memory.store.page_memory import limit_pages

_LOG = logging.getLogger(__name__)
PAGES_KIB = 2048
SECONDS_TO_END = 10


class FigureMaking:
    """Makes figures each time that a reader ``asks`` for them."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        self._is_asked = threading.Event()
        self._is_ending = threading.Event()
        self._memory: Memory | None = None
        self._lock = threading.Lock()

    def ask(self) -> None:
        """Make figures soon. Readers call it, from any thread."""
        self._is_asked.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, name="figures", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_ending.set()
            self.ask()
            with self._lock:
                if self._memory is not None:
                    interrupt(self._memory.store.db)
            thread.join(SECONDS_TO_END)

    def _work(self) -> None:
        while not self._is_ending.is_set():
            self._is_asked.wait()
            self._is_asked.clear()
            if self._is_ending.is_set():
                return
            try:
                self._make()
            except SessionMemoryError as error:
                # The next reader asks again, and is answered by counting until then.
                _LOG.debug("Figures were not made: %s", error)
            give_back_memory()

    def _make(self) -> None:
        # They are loaded with the first page that has costs.
        from session_memory.pricing.figure_sets import keep_figures  # noqa: PLC0415
        from session_memory.store.statistics_parts import Scope  # noqa: PLC0415
        from session_memory.views.cost_days import offsets  # noqa: PLC0415
        from session_memory.views.stats.keeping import keep_statistics  # noqa: PLC0415

        with self._opened() as memory:
            limit_pages(memory.store.db, PAGES_KIB)
            with self._lock:
                self._memory = memory
            try:
                keep_figures(memory.store, offsets(None))
                keep_statistics(memory.store, Scope(), None)
            finally:
                with self._lock:
                    self._memory = None
