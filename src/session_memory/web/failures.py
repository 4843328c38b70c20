"""Answers that say why there is none: for a person a small page, for a program JSON or text."""

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from session_memory.web.markup import templates
from session_memory.web.routes import API


class Failures:
    """``style`` is the address of the style sheet, which everybody may load."""

    def __init__(self, style: str) -> None:
        self._style = style

    def said(
        self, request: Request, status: int, message: str, hint: str = "", kind: str = "NoAnswer"
    ) -> Response:
        """The same sentence for a browser, for a program that asks the API, and for others."""
        if request.url.path.startswith(f"{API}/"):
            error = {"error": {"kind": kind, "message": message, "hint": hint or None}}
            return Response(msgspec.json.encode(error), status, media_type="application/json")
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(f"{message}\n{hint}\n" if hint else f"{message}\n", status)
        template = templates().get_template("refused.html")
        page = template.render(style=self._style, status=status, message=message, hint=hint)
        return HTMLResponse(page, status)
