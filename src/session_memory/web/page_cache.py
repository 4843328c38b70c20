"""Answers that are kept as long as the store does not change.

A page over 100,000 sessions may take a second to make. Nothing that it shows changes until
somebody writes to the store, so the next reader gets the same bytes. Pages show how long ago
something was, so an answer is kept for a minute at most.
"""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from starlette.responses import Response

from session_memory.core.time import now_ms

MOST_BYTES = 24_000_000
LARGEST = 1_000_000
MINUTE_MS = 60_000


class PageCache:
    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Response] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def key(self, mark: Hashable, *asked: Hashable) -> Hashable:
        """The key of an answer at this state of the store, in this minute."""
        return (mark, now_ms() // MINUTE_MS, *asked)

    def get(self, key: Hashable) -> Response | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def add(self, key: Hashable, answer: Response) -> None:
        """Keep a whole page. Other answers have their own tags, or are quick to make."""
        size = len(answer.body)
        is_page = answer.status_code == 200 and answer.media_type == "text/html"
        if not is_page or size > LARGEST or "ETag" in answer.headers:
            return
        with self._lock:
            if key not in self._kept:
                self._kept[key] = answer
                self._bytes += size
            while self._bytes > MOST_BYTES:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= len(oldest.body)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0
