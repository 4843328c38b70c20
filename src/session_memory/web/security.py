"""Decide who may ask the server, and add security headers to every answer.

Other users of the machine and web pages in the same browser must get nothing. So a request needs
our own host name, and the token that the server printed when it started.
"""

import hmac
import secrets
from collections.abc import Iterable
from email.utils import formatdate
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from session_memory.web.failures import Failures

TOKEN_BYTES = 32
PARAMETER = "t"
OPEN_TO_ALL = "/static/"
METHODS = ("GET", "HEAD", "POST")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types sm"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REFUSED = "This page needs the address that session-memory web prints."
_HINT = "Run session-memory web again: it opens the page, also of a server that runs already."


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


class RequestGuard:
    """Refuses requests that may not pass, and adds the security headers to every answer."""

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        port: int,
        failures: Failures,
        for_programs: Iterable[str] = (),
    ) -> None:
        self._failures = failures
        self._app = app
        self._token = token
        # Paths for programs, which have no cookie and send the token in a header.
        self._for_programs = frozenset(for_programs)
        names = ("127.0.0.1", "localhost", "[::1]")
        self._hosts = frozenset(f"{name}:{port}" for name in names)
        self._cookie = cookie_name(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"unexpected connection: {scope['type']}")
        refused = self._refusal(scope)
        answer: ASGIApp = self._app if refused is None else refused

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message["headers"]))
                for name, value in HEADERS.items():
                    headers[name] = value
                headers["Date"] = formatdate(usegmt=True)
                headers.setdefault("Cache-Control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("This server answers only under its own name.\n", 421)
        if scope["method"] not in METHODS:
            return PlainTextResponse("Only GET and POST.\n", 405, {"Allow": ", ".join(METHODS)})
        if scope["path"].startswith(OPEN_TO_ALL):
            return None
        given = self._given(scope)
        if given is not None:
            return self._welcome(scope) if self._is_token(given) else self._unknown(scope)
        if scope["path"] in self._for_programs:
            return self._refused_program(headers)
        if not self._is_token(self._kept(headers)):
            return self._unknown(scope)
        if scope["method"] == "POST" and not self._is_our_page(headers):
            return PlainTextResponse("Changes can only be made from our own pages.\n", 403)
        return None

    def _refused_program(self, headers: Headers) -> Response | None:
        """Return the refusal of a request by a program; None if it may pass.

        Programs send the token in the header ``Authorization``.
        """
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._is_token(token.strip()):
            return PlainTextResponse("Send the token: Authorization: Bearer TOKEN\n", 401)
        is_foreign = "origin" in headers and not self._is_our_origin(headers)
        return PlainTextResponse("Not for other web pages.\n", 403) if is_foreign else None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    @staticmethod
    def _given(scope: Scope) -> str | None:
        """Return the token in the address. Only the first request of a browser has it."""
        if scope["method"] == "POST":
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return next((value for name, value in pairs if name == PARAMETER), None)

    def _kept(self, headers: Headers) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return "" if cookie is None else cookie.value

    def _welcome(self, scope: Scope) -> Response:
        """Redirect to the same page without the token in its address, and set it as a cookie."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in pairs if name != PARAMETER])
        # The path begins with one slash, because two slashes would name another host.
        path = "/" + quote(scope["path"].lstrip("/"))
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        answer.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="strict")
        return answer

    def _unknown(self, scope: Scope) -> Response:
        return self._failures.response(Request(scope), 403, _REFUSED, _HINT, "TokenMissing")

    def _is_our_page(self, headers: Headers) -> bool:
        return self._is_our_origin(headers) and headers.get("sec-fetch-site") == "same-origin"

    def _is_our_origin(self, headers: Headers) -> bool:
        origin = headers.get("origin", "")
        return origin.startswith("http://") and origin[len("http://") :].lower() in self._hosts


def cookie_name(port: int) -> str:
    """Return the name of the cookie. It has the port, because browsers send a cookie to all ports
    of a host."""
    return f"session-memory-{port}"
