"""The application: each route asks a page, in a thread, with a memory of its own."""

import hmac
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, ExceptionHandler

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
from session_memory.store.session_stamps import session_stamp
from session_memory.web.asked import PART, THEME_COOKIE, Asked
from session_memory.web.cancelling import Cancellation, run_while_awaited
from session_memory.web.failures import Failures
from session_memory.web.live import Changes
from session_memory.web.memories import Memories
from session_memory.web.page_cache import SLOW_S, Dependency, PageCache
from session_memory.web.routes import ROUTES, RoutedPage
from session_memory.web.security import RequestGuard
from session_memory.web.site import Site

if TYPE_CHECKING:
    from session_memory.web.mcp_endpoint import McpEndpoint

MCP_PATH = "/mcp"
_NOT_FOUND = (UnknownSession, UnknownEvent, UnknownPattern, UnknownLesson, NoSuchLine)
_WRONG = (InvalidRecord, AmbiguousSession, LessonError)
LONGEST_FORM = 64 * 1024
FOR_EVER = "public, max-age=31536000, immutable"


def make_app(
    memories: Memories,
    changes: Changes,
    site: Site,
    token: str,
    port: int,
    mcp: "McpEndpoint | None" = None,
    answered: Callable[[], None] | None = None,
) -> ASGIApp:
    """The whole application behind its guard. ``answered`` is called after each page."""
    answering = _Answering(memories, changes, site, answered)
    failures = Failures(site.file("app.css"))
    routes = [
        Route(route.path, _endpoint(route, answering, failures), methods=list(route.methods))
        for route in ROUTES
    ]
    routes.append(Route("/events", changes.endpoint))
    routes.append(Route("/static/{version}/{name}", _static(site)))
    if mcp is not None:
        routes.append(Route(MCP_PATH, mcp.endpoint, methods=["GET", "POST"]))
    handlers = {404: _no_page(failures), 500: _broken(failures)}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return RequestGuard(app, token, port, failures, () if mcp is None else (MCP_PATH,))


class _Answering:
    """Asks pages for answers, in the thread of a request."""

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

    def get(self, route: RoutedPage, request: Request, stopping: Cancellation) -> Response:
        """The answer to a question; a kept one as long as what it depends on is unchanged."""
        theme = request.cookies.get(THEME_COOKIE)
        asked = (request.url.path, request.url.query, request.headers.get(PART), theme)
        mark = self._changes.mark()

        def stamp() -> Hashable | None:
            return self._stamp(request.path_params["uid"]) if route.is_about_session else None

        kept = self._cache.get(asked, mark, stamp, route.kept_ms)
        if kept is not None:
            return kept
        depends = Dependency(mark, stamp())
        began = time.thread_time()
        answer = self._answer(route, request, {}, stopping)
        self._answered()
        took = time.thread_time() - began
        if took >= SLOW_S:
            give_back_memory()
        if not route.may_lag(request.headers.get(PART), request.url.query):
            took = 0.0
        self._cache.add(asked, depends, answer, route.kept_ms, took)
        return answer

    def _stamp(self, uid: str) -> Hashable | None:
        with self._memories.one() as memory:
            return session_stamp(memory.store.db, uid)

    def post(self, route: RoutedPage, request: Request, form: dict[str, str]) -> Response:
        """Carry out a change. What was kept may be wrong afterwards."""
        try:
            return self._answer(route, request, form, Cancellation())
        finally:
            self._cache.clear()

    def _answer(
        self,
        route: RoutedPage,
        request: Request,
        form: dict[str, str],
        stopping: Cancellation,
    ) -> Response:
        with self._memories.one() as memory, stopping.of(memory):
            asked = Asked(request, memory, self.site, form)
            asked.route = route.path
            try:
                return route.answer(asked)
            except _NOT_FOUND as error:
                return _failed(asked, error, 404)
            except _WRONG as error:
                return _failed(asked, error, 400)


def _endpoint(
    route: RoutedPage, answering: _Answering, failures: Failures
) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        try:
            if request.method != "POST":
                return await run_while_awaited(request, partial(answering.get, route, request))
            form = await _form(request)
            if not _is_ours(form, answering.site):
                return PlainTextResponse("The form is not one of ours.\n", 403)
            return await run_in_threadpool(answering.post, route, request, form)
        except SessionMemoryError as error:
            status = 400 if isinstance(error, _WRONG) else 503
            kind = type(error).__name__
            return failures.said(request, status, str(error), error.hint or "", kind)

    return endpoint


def _is_ours(form: dict[str, str], site: Site) -> bool:
    return hmac.compare_digest(form.get("token", "").encode(), site.form_token.encode())


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form; a large one is not read."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_FORM:
            raise InvalidRecord("the form is too long", field="form")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _failed(asked: Asked, error: SessionMemoryError, status: int) -> Response:
    if asked.address.startswith("/api/"):
        kind = type(error).__name__
        said = {"kind": kind, "message": str(error), "hint": error.hint}
        return asked.json({"error": said}, status)
    return asked.page("failed", status, message=str(error), hint=error.hint or "")


def _static(site: Site) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        found = site.assets.at(request.url.path)
        if found is None:
            return PlainTextResponse("No such file.\n", 404)
        return Response(
            found.body, media_type=found.media_type, headers={"Cache-Control": FOR_EVER}
        )

    return endpoint


def _no_page(failures: Failures) -> ExceptionHandler:
    async def answer(request: Request, _error: Exception) -> Response:
        return failures.said(request, 404, "There is no such page.", kind="UnknownPage")

    return answer


def _broken(failures: Failures) -> ExceptionHandler:
    """The error itself is written to the server's own log."""

    async def answer(request: Request, _error: Exception) -> Response:
        hint = "What happened stands in the window where session-memory web runs."
        return failures.said(request, 500, "This page could not be made.", hint, "InternalError")

    return answer
