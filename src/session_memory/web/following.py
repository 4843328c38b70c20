"""Collect what agents write while the server runs, in a thread with a connection of its own."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from session_memory.core.errors import SessionMemoryError
from session_memory.memory import Memory
from session_memory.store.page_memory import limit_pages

if TYPE_CHECKING:
    from session_memory.memory.follow import Follow
    from session_memory.web.site import Site

_LOG = logging.getLogger(__name__)
PAGES_KIB = 1024
# The first look at all logs waits until the first page is answered, but at most this long.
LONGEST_WAIT_S = 1.0
SECONDS_TO_END = 10


class Following:
    """Follows the logs, from the first answered page on or after `LONGEST_WAIT_S`. Each time that
    it wrote to the store, it calls ``wrote``."""

    def __init__(
        self, opened: Callable[[], Memory], wrote: Callable[[], None], site: "Site"
    ) -> None:
        self._opened = opened
        self._wrote = wrote
        self._site = site
        self._may_begin = threading.Event()
        self._is_ending = threading.Event()
        self._follow: Follow | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Look at the logs now, because the first page was answered."""
        self._may_begin.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Follow the logs within this block."""
        thread = threading.Thread(target=self._collect, name="follow", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._end()
            thread.join(SECONDS_TO_END)

    def _end(self) -> None:
        with self._lock:
            self._is_ending.set()
            self._may_begin.set()
            if self._follow is not None:
                self._follow.stop()

    def _collect(self) -> None:
        self._may_begin.wait(LONGEST_WAIT_S)
        try:
            self._follow_logs()
        except SessionMemoryError as error:
            # The pages are served all the same, and say that the logs are not followed.
            self._site.is_followed = False
            _LOG.error("The logs are not followed: %s. %s", error, error.hint or "")

    def _follow_logs(self) -> None:
        with self._opened() as memory:
            limit_pages(memory.store.db, PAGES_KIB)
            with self._lock:
                if self._is_ending.is_set():
                    return
                self._follow = memory.follow()
            with self._follow:
                for _ in self._follow:
                    self._wrote()
