"""A pool of open `Memory` objects, one for each request that is answered at the same time.

A connection to a database belongs to one thread at a time. So each request takes a memory, and the
next request uses it again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue

from session_memory.core.errors import SessionMemoryError, StoreError
from session_memory.memory import Memory
from session_memory.store.page_memory import limit_pages

MOST_IDLE = 4
PAGES_KIB = 4096


class Memories:
    """A pool of open memories. ``make_figures`` is called if saved sums have to be made. Without
    it, the request that needs the sums makes them."""

    def __init__(
        self, opened: Callable[[], Memory], make_figures: Callable[[], None] | None = None
    ) -> None:
        self._opened = opened
        self._make_figures = make_figures
        self._idle: LifoQueue[Memory] = LifoQueue()

    @contextmanager
    def one(self) -> Iterator[Memory]:
        """Lend a memory to one request. It is closed after a failure, because a failure may leave a
        connection in an unknown state. An error of the request, such as a wrong filter, is no
        failure in this sense."""
        memory = self._taken()
        is_sound = False
        try:
            yield memory
            is_sound = True
        except SessionMemoryError as error:
            is_sound = not isinstance(error, StoreError)
            raise
        finally:
            if is_sound and self._idle.qsize() < MOST_IDLE:
                self._idle.put(memory)
            else:
                memory.close()

    def _taken(self) -> Memory:
        try:
            return self._idle.get_nowait()
        except Empty:
            memory = self._opened()
            limit_pages(memory.store.db, PAGES_KIB)
            memory.store.figures.make_elsewhere = self._make_figures
            return memory

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return
