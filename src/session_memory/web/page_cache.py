"""Answers that are kept as long as what they show does not change.

A page over 100,000 sessions may take a second to make. It is kept until somebody writes to the
store. A page about one session is kept until that session changes, or one below it: a live session
writes several times a second, and the pages of all others stay valid. Pages that show how long ago
something was are kept for a minute at most.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

import msgspec
from starlette.responses import Response

from session_memory.core.time import now_ms

MOST_BYTES = 24_000_000
LARGEST = 1_000_000


class Dependency(msgspec.Struct, frozen=True):
    """What an answer depends on: ``mark`` is the state of the store, and ``stamp`` that of a
    session, if the answer is about one. It is read before the answer is made."""

    mark: Hashable
    stamp: Hashable | None = None


class _KeptAnswer(msgspec.Struct):
    depends: Dependency
    period: int
    answer: Response


class PageCache:
    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _KeptAnswer] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(
        self, asked: Hashable, mark: Hashable, stamp: Callable[[], Hashable | None], kept_ms: int
    ) -> Response | None:
        """The kept answer to a question, if what it depends on is unchanged."""
        with self._lock:
            found = self._kept.get(asked)
        if found is None or found.period != now_ms() // kept_ms:
            return None
        if found.depends.mark != mark:
            before = found.depends.stamp
            if before is None or stamp() != before:
                return None
            found.depends = Dependency(mark, before)
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
        return found.answer

    def add(self, asked: Hashable, depends: Dependency, answer: Response, kept_ms: int) -> None:
        """Keep a whole page. Other answers have their own tags, or are quick to make."""
        size = len(answer.body)
        is_page = answer.status_code == 200 and answer.media_type == "text/html"
        if not is_page or size > LARGEST or "ETag" in answer.headers:
            return
        with self._lock:
            self._forget(asked)
            self._kept[asked] = _KeptAnswer(depends, now_ms() // kept_ms, answer)
            self._bytes += size
            while self._bytes > MOST_BYTES:
                self._forget(next(iter(self._kept)))

    def _forget(self, asked: Hashable) -> None:
        old = self._kept.pop(asked, None)
        self._bytes -= 0 if old is None else len(old.answer.body)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0
