"""The web application: its routes, its static files, and its answers to failures."""

import hmac
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, ExceptionHandler

from session_memory.core.errors import InvalidRecord, SessionMemoryError
from session_memory.web.answering import WRONG, Answering
from session_memory.web.cancelling import run_while_awaited
from session_memory.web.failures import Failures
from session_memory.web.live import Changes
from session_memory.web.routes import ROUTES, RoutedPage
from session_memory.web.security import RequestGuard
from session_memory.web.site import Site

if TYPE_CHECKING:
    from session_memory.web.mcp_endpoint import McpEndpoint

MCP_PATH = "/mcp"
LONGEST_FORM = 64 * 1024
FOR_EVER = "public, max-age=31536000, immutable"


def make_app(
    answering: Answering,
    changes: Changes,
    token: str,
    port: int,
    mcp: "McpEndpoint | None" = None,
) -> ASGIApp:
    """Make the application, behind a guard that checks every request."""
    site = answering.site
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


def _endpoint(
    route: RoutedPage, answering: Answering, failures: Failures
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
            status = 400 if isinstance(error, WRONG) else 503
            kind = type(error).__name__
            return failures.response(request, status, str(error), error.hint or "", kind)

    return endpoint


def _is_ours(form: dict[str, str], site: Site) -> bool:
    return hmac.compare_digest(form.get("token", "").encode(), site.form_token.encode())


async def _form(request: Request) -> dict[str, str]:
    """Read the fields of a form. A form that is too long is refused."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_FORM:
            raise InvalidRecord("the form is too long", field="form")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


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
        return failures.response(request, 404, "There is no such page.", kind="UnknownPage")

    return answer


def _broken(failures: Failures) -> ExceptionHandler:
    """Return the function that answers an unexpected error. The server's log has the error."""

    async def answer(request: Request, _error: Exception) -> Response:
        hint = "The window where session-memory web runs shows the error."
        return failures.response(
            request, 500, "This page could not be made.", hint, "InternalError"
        )

    return answer
