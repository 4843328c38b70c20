"""Cache answers as long as what they show does not change.

A page over 100,000 sessions may take a second to make. It is kept until somebody writes to the
store. A page about one session is kept until that session or one below it changes. So a live
session, which writes several times a second, does not affect the pages about other sessions. Pages
that show files, or how long ago something was, are kept until the next full minute, the page of a
file's lines (``/why``) for a second, and all others until the next full hour, because a day may end
then.

Figures about all sessions may lag: if such an answer took half a second of a processor or more, it
is shown again for ten times as long, even if somebody wrote since. So a busy store and an open page
never take more than a tenth of a processor. In stores of some thousand sessions nothing lags.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

import msgspec
from starlette.responses import Response

from session_memory.core.time import now_ms

MOST_BYTES = 24_000_000
LARGEST = 1_000_000
SLOW_S, REST = 0.5, 10


class Dependency(msgspec.Struct, frozen=True):
    """What an answer depends on: ``mark`` stands for the state of the store, and ``stamp`` for the
    state of a session if the answer is about one. Both are read before the answer is made."""

    mark: Hashable
    stamp: Hashable | None = None


class _KeptAnswer(msgspec.Struct):
    depends: Dependency
    kept_ms: int
    period: int
    answer: Response
    lags_until: float = 0.0


def _period(kept_ms: int) -> int:
    """Return the number of the present period of this length. Periods begin with a local hour."""
    return (now_ms() + time.localtime().tm_gmtoff * 1000) // kept_ms


class PageCache:
    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _KeptAnswer] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(
        self, asked: Hashable, mark: Hashable, stamp: Callable[[], Hashable | None]
    ) -> Response | None:
        """Return the cached answer to a request, if what it depends on is unchanged, or if it may
        still lag. None if it has to be made."""
        with self._lock:
            found = self._kept.get(asked)
        if found is None or found.period != _period(found.kept_ms):
            return None
        if found.depends.mark != mark:
            before = found.depends.stamp
            if before is not None and stamp() == before:
                found.depends = Dependency(mark, before)
            elif time.monotonic() >= found.lags_until:
                return None
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
        return found.answer

    def add(
        self,
        asked: Hashable,
        depends: Dependency,
        answer: Response,
        kept_ms: int,
        took_s: float = 0.0,
    ) -> None:
        """Cache an answer if it is an HTML page of at most `LARGEST` bytes and without an ETag.

        ``took_s`` is the processor time of an answer that may lag."""
        size = len(answer.body)
        is_page = answer.status_code == 200 and answer.media_type == "text/html"
        if not is_page or size > LARGEST or "ETag" in answer.headers:
            return
        with self._lock:
            self._forget(asked)
            lags_until = time.monotonic() + REST * took_s if took_s >= SLOW_S else 0.0
            self._kept[asked] = _KeptAnswer(depends, kept_ms, _period(kept_ms), answer, lags_until)
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
