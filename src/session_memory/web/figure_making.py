"""Make the saved sums about all sessions in a separate thread, not in a request.

With 100,000 sessions that takes seconds. It is done after an update of the program, with other
prices, in another time zone, and after many sessions were collected. Until it is done, requests
count sessions themselves.
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
    """Makes the saved sums, in its own thread, each time that a request calls `ask`."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        self._is_asked = threading.Event()
        self._is_ending = threading.Event()
        self._memory: Memory | None = None
        self._lock = threading.Lock()

    def ask(self) -> None:
        """Have the sums made soon. Requests call it, from any thread."""
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
                # The next request asks again. Until the sums are made, requests count.
                _LOG.debug("Figures were not made: %s", error)
            give_back_memory()

    def _make(self) -> None:
        # These modules are imported only when the first page with costs is asked for.
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
