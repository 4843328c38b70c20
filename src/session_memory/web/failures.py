"""Answers to requests that fail: a small page for a person, JSON or text for a program."""

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from session_memory.web.markup import templates
from session_memory.web.routes import API


class Failures:
    """Makes the answers to requests that fail. ``style`` is the address of the style sheet, which
    needs no token."""

    def __init__(self, style: str) -> None:
        self._style = style

    def response(
        self, request: Request, status: int, message: str, hint: str = "", kind: str = "NoAnswer"
    ) -> Response:
        """Return the message as a page for a browser, as JSON for the API, else as plain text."""
        if request.url.path.startswith(f"{API}/"):
            error = {"error": {"kind": kind, "message": message, "hint": hint or None}}
            return Response(msgspec.json.encode(error), status, media_type="application/json")
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(f"{message}\n{hint}\n" if hint else f"{message}\n", status)
        template = templates().get_template("refused.html")
        page = template.render(style=self._style, status=status, message=message, hint=hint)
        return HTMLResponse(page, status)
