"""Answer requests for pages, each in its own thread and with a `Memory` of its own."""

import time
from collections.abc import Callable, Hashable

from starlette.requests import Request
from starlette.responses import Response

from session_memory.core.errors import (
    AmbiguousSession,
    InvalidRecord,
    NoSuchLine,
    SessionMemoryError,
    UnknownEvent,
    UnknownPattern,
    UnknownSession,
)
from session_memory.core.freed_memory import give_back_memory
from session_memory.core.lesson_errors import LessonError, UnknownLesson
from session_memory.store.page_memory import release_pages
from session_memory.store.session_stamps import session_stamp
from session_memory.web.asked import PART, THEME_COOKIE, Asked
from session_memory.web.cancelling import Cancellation
from session_memory.web.live import Changes
from session_memory.web.memories import Memories
from session_memory.web.one_at_a_time import OneAtATime
from session_memory.web.page_cache import SLOW_S, Dependency, PageCache
from session_memory.web.routes import RoutedPage
from session_memory.web.site import Site

_NOT_FOUND = (UnknownSession, UnknownEvent, UnknownPattern, UnknownLesson, NoSuchLine)
WRONG = (InvalidRecord, AmbiguousSession, LessonError)


class Answering:
    """Calls pages for their answers, in the thread of a request. After each new answer it calls
    ``answered``."""

    def __init__(
        self,
        memories: Memories,
        changes: Changes,
        site: Site,
        answered: Callable[[], None] | None = None,
    ) -> None:
        self._memories = memories
        self._answered = answered or (lambda: None)
        self._changes = changes
        self.site = site
        self._cache = PageCache()
        self._making = OneAtATime()

    def get(self, route: RoutedPage, request: Request, stopping: Cancellation) -> Response:
        """Return the answer to a request; a cached one as long as what it shows is unchanged."""
        theme = request.cookies.get(THEME_COOKIE)
        asked = (request.url.path, request.url.query, request.headers.get(PART), theme)
        mark = self._changes.mark()

        def stamp() -> Hashable | None:
            return self._stamp(request.path_params["uid"]) if route.is_about_session else None

        def kept() -> Response | None:
            return self._cache.get(asked, mark, stamp)

        found = kept()
        if found is not None:
            return found
        with self._making.of(asked):
            # Another request for the same page may have been answered while this one waited.
            return kept() or self._made(route, request, asked, Dependency(mark, stamp()), stopping)

    def _made(
        self,
        route: RoutedPage,
        request: Request,
        asked: Hashable,
        depends: Dependency,
        stopping: Cancellation,
    ) -> Response:
        began = time.thread_time()
        answer, kept_ms = self._answer(route, request, {}, stopping, depends.mark)
        self._answered()
        took = time.thread_time() - began
        if took >= SLOW_S:
            give_back_memory()
        if not route.may_lag(request.headers.get(PART), request.url.query):
            took = 0.0
        self._cache.add(asked, depends, answer, kept_ms, took)
        return answer

    def rest(self) -> None:
        """Return memory that is no longer needed to the operating system."""
        with self._memories.one() as memory:
            release_pages(memory.store.db)
        give_back_memory()

    def _stamp(self, uid: str) -> Hashable | None:
        with self._memories.one() as memory:
            return session_stamp(memory.store.db, uid)

    def post(self, route: RoutedPage, request: Request, form: dict[str, str]) -> Response:
        """Carry out a change, and clear the cache, because cached answers may be wrong now."""
        try:
            return self._answer(route, request, form, Cancellation(), object())[0]
        finally:
            self._cache.clear()

    def _answer(
        self,
        route: RoutedPage,
        request: Request,
        form: dict[str, str],
        stopping: Cancellation,
        mark: Hashable,
    ) -> tuple[Response, int]:
        """Return the answer, and for how long it may be kept."""
        with self._memories.one() as memory, stopping.of(memory):
            asked = Asked(request, memory, self.site, form)
            asked.route, asked.mark, asked.kept_ms = route.path, mark, route.kept_ms
            try:
                return route.answer(asked), asked.kept_ms
            except _NOT_FOUND as error:
                return _failed(asked, error, 404), asked.kept_ms
            except WRONG as error:
                return _failed(asked, error, 400), asked.kept_ms


def _failed(asked: Asked, error: SessionMemoryError, status: int) -> Response:
    if asked.address.startswith("/api/"):
        kind = type(error).__name__
        failure = {"kind": kind, "message": str(error), "hint": error.hint}
        return asked.json({"error": failure}, status)
    return asked.page("failed", status, message=str(error), hint=error.hint or "")
