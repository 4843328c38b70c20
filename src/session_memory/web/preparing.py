"""Make the start page once in a separate thread, soon after the server started.

This imports the modules of the page and caches its parts. So the first visit is as quick as others.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from session_memory.core.errors import SessionMemoryError
from session_memory.web.answering import Answering
from session_memory.web.asked import PART
from session_memory.web.cancelling import Cancellation
from session_memory.web.routes import ROUTES

_LOG = logging.getLogger(__name__)
START = "/"
PARTS = ("money", "patterns", "lessons", "")
LONGEST_WAIT_S = 1.0
# A browser that got the start page asks for its parts at once. It must not be delayed.
PAUSE_S = 0.3
SECONDS_TO_END = 10


class Preparing:
    """Makes the start page in its own thread, after the first answer of the server or, without one,
    after `LONGEST_WAIT_S`."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._may_begin = threading.Event()
        self._stopping = Cancellation()
        self._is_ending = threading.Event()

    def begin(self) -> None:
        """Make the start page now, because the first page was answered."""
        self._may_begin.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._prepare, name="prepare", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_ending.set()
            self.begin()
            self._stopping.stop()
            thread.join(SECONDS_TO_END)

    def _prepare(self) -> None:
        self._may_begin.wait(LONGEST_WAIT_S)
        self._is_ending.wait(PAUSE_S)
        route = next(route for route in ROUTES if route.path == START)
        for part in PARTS:
            if self._is_ending.is_set():
                return
            try:
                self._answering.get(route, _request(part), self._stopping)
            except SessionMemoryError as error:
                # A browser that asks for the page will be told what is wrong.
                _LOG.debug("The start page was not prepared: %s", error)
        self._answering.rest()


def _request(part: str) -> Request:
    """Make the request of a browser for a part of the start page; with "", for the page itself."""
    headers = [(PART.lower().encode(), part.encode())] if part else []
    scope = {"type": "http", "method": "GET", "path": START, "path_params": {}}
    return Request({**scope, "query_string": b"", "headers": headers})
