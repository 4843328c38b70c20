"""A request as a page gets it, and the answers that a page can give."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.responses import HTMLResponse, Response

from session_memory.store.session_pages import SessionConditions, SessionPages
from session_memory.web.markup import templates

if TYPE_CHECKING:
    from starlette.requests import Request

    from session_memory.memory import Memory
    from session_memory.web.site import Site

PART = "X-Part"
_MOST_DIGITS = 18
MINUTE_MS = 60_000
Value = TypeVar("Value")
THEME_COOKIE = "session-memory-theme"


class Asked:
    """One request: the memory to ask, the parameters of the address, and how to answer."""

    def __init__(
        self,
        request: "Request",
        memory: "Memory",
        site: "Site",
        form: dict[str, str] | None = None,
    ) -> None:
        self.memory = memory
        self.site = site
        self.path: dict[str, str] = request.path_params
        self.query = {name: value for name, value in request.query_params.items() if value}
        self.part = request.headers.get(PART)
        self.is_current = request.headers.get("If-None-Match")
        self.theme = request.cookies.get(THEME_COOKIE, "")
        self.form = form or {}
        self.address = request.url.path
        self.route = ""
        # The state of the store before the page was made. Until `Answering` sets it, it is a value
        # that no other request has.
        self.mark: Hashable = object()
        self.kept_ms = MINUTE_MS

    def number(self, name: str, default: int = 0, most: int = 1 << 40) -> int:
        """Return a whole number from the address, or the default if it is missing or no number."""
        text = self.query.get(name, self.path.get(name, ""))
        if not (text.isascii() and text.isdigit()):
            return default
        # Python refuses to read numbers of thousands of digits.
        return min(int(text), most) if len(text) <= _MOST_DIGITS else most

    def page(self, name: str, status: int = 200, **values: Any) -> Response:
        """Return a page, or if the request has the header ``X-Part``, only that block of it."""
        template = templates().get_template(f"{name}.html")
        if self.part and self.part in template.blocks:
            context = template.new_context({**self._frame(), **values})
            body = "".join(template.blocks[self.part](context))
        else:
            body = template.render(**self._frame(), total_sessions=self._listed(), **values)
        return HTMLResponse(body, status)

    def _frame(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "theme": self.theme if self.theme in ("light", "dark") else "",
            "here": self.address,
        }

    def _listed(self) -> int:
        """Count the sessions in the list. Subagents are listed with their sessions."""
        pages = SessionPages(self.memory.store.db)
        return self.kept("listed", lambda: pages.count(SessionConditions(folded=True)))

    def kept(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return a value that depends on nothing but the store. It is made again when somebody
        wrote to the store."""
        return self.site.values.get(name, self.mark, make)

    def json(self, value: Any, status: int = 200) -> Response:
        body = msgspec.json.encode(value)
        return Response(body, status, media_type="application/json")

    def tagged(self, answer: Response, tag: str) -> Response:
        """Return the answer with an ETag; an empty answer (304) if the browser has the same one."""
        etag = f'"{tag}"'
        if self.is_current == etag:
            return Response(None, 304, {"ETag": etag})
        answer.headers["ETag"] = etag
        answer.headers["Cache-Control"] = "private, no-cache"
        return answer
