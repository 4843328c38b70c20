"""The table of routes: address, page, methods.

Pages are given by name. Their modules are imported when they are first asked for, so that the
server starts quickly.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

from starlette.responses import Response

from session_memory.web.asked import MINUTE_MS, Asked

SECOND_MS = 1_000
HOUR_MS = 3_600_000
_MAY_LAG = ("/cost", "/work", "/learn", "/patterns", "/retro", "/keep")
_PARTS_THAT_MAY_LAG = ("money", "patterns", "lessons", "facets", "dearest", "checks", "told")
_ABOUT_OTHERS = ("like", "family", "find_in_session", "event_inspector", "session_map_page")
GET = ("GET", "HEAD")
POST = ("POST",)
API = "/api/v1"
# The endpoints of session_memory.web.api.
API_PATHS = (
    "/sessions",
    "/sessions/{uid:path}/events",
    "/sessions/{uid:path}",
    "/search",
    "/fix",
    "/how",
    "/why",
    "/cost",
    "/stats",
    "/patterns",
    "/lessons",
    "/retro",
    "/keep",
)


class RoutedPage(NamedTuple):
    """A page and its address. The function ``name`` of the module ``web.<module>`` makes it.

    ``kept_ms`` is how long a cached answer may be shown while nobody writes to the store. It is a
    minute for pages that show files, or times such as "5 min ago", and a second for ``/why``."""

    path: str
    module: str
    name: str
    methods: tuple[str, ...] = GET
    kept_ms: int = HOUR_MS

    @property
    def is_about_session(self) -> bool:
        """Whether the answer depends only on one session and on the sessions below it."""
        return self.path.startswith("/s/{uid:path}") and self.name not in _ABOUT_OTHERS

    def may_lag(self, part: str | None, query: str) -> bool:
        """Whether the answer has figures about all sessions that may be some seconds old."""
        is_priced_list = self.path == "/sessions" and "sort=cost" in query
        return self.path in _MAY_LAG or part in _PARTS_THAT_MAY_LAG or is_priced_list

    def answer(self, asked: Asked) -> Response:
        return _page(self.module, self.name)(asked)


@cache
def _page(module: str, name: str) -> Callable[[Asked], Response]:
    page: Callable[[Asked], Response] = getattr(import_module(f"session_memory.web.{module}"), name)
    return page


ROUTES = (
    RoutedPage(f"{API}/openapi.json", "api", "openapi"),
    *(RoutedPage(f"{API}{path}", "api", "answered") for path in API_PATHS),
    RoutedPage("/", "pages.overview", "start", kept_ms=MINUTE_MS),
    RoutedPage("/sessions", "pages.sessions", "sessions"),
    RoutedPage("/cost", "pages.cost", "cost"),
    RoutedPage("/work", "pages.work", "work"),
    RoutedPage("/learn", "pages.learn", "patterns"),
    RoutedPage("/patterns", "pages.learn", "patterns"),
    RoutedPage("/patterns/{id}", "pages.learn", "pattern"),
    RoutedPage("/lessons", "pages.learn", "lessons", kept_ms=MINUTE_MS),
    RoutedPage("/lessons/{id}", "pages.learn", "lesson", kept_ms=MINUTE_MS),
    RoutedPage("/retro", "pages.learn", "retro"),
    RoutedPage("/errors", "pages.errors", "errors", kept_ms=MINUTE_MS),
    # The file may change at any time.
    RoutedPage("/why", "pages.why", "why", kept_ms=SECOND_MS),
    RoutedPage("/keep", "pages.keep", "keep", kept_ms=MINUTE_MS),
    RoutedPage("/settings", "pages.settings", "settings", kept_ms=MINUTE_MS),
    RoutedPage("/settings/theme", "pages.settings", "choose_theme", POST),
    RoutedPage("/lessons/{id}/accept", "pages.actions", "accept_lesson", POST),
    RoutedPage("/lessons/{id}/reject", "pages.actions", "reject_lesson", POST),
    RoutedPage("/compare", "pages.compare", "compare"),
    # Ids may contain slashes, so the shorter addresses come last.
    RoutedPage("/s/{uid:path}/pin", "pages.actions", "pin", POST),
    RoutedPage("/s/{uid:path}/unpin", "pages.actions", "unpin", POST),
    RoutedPage("/s/{uid:path}/name", "pages.actions", "name", POST),
    RoutedPage("/s/{uid:path}/find", "pages.session", "find_in_session"),
    RoutedPage("/s/{uid:path}/map", "pages.session_map", "session_map_page"),
    RoutedPage("/s/{uid:path}/stretch", "pages.session_stretch", "session_stretch"),
    RoutedPage("/s/{uid:path}/strip", "pages.session_map", "map_strip"),
    RoutedPage("/s/{uid:path}/changes", "pages.session_views", "changes"),
    RoutedPage("/s/{uid:path}/digest", "pages.session_views", "digest"),
    RoutedPage("/s/{uid:path}/cost", "pages.session_views", "session_cost"),
    RoutedPage("/s/{uid:path}/family", "pages.session_views", "family"),
    RoutedPage("/s/{uid:path}/like", "pages.session_views", "like"),
    RoutedPage("/s/{uid:path}/raw/{event:path}", "pages.session_views", "raw"),
    RoutedPage("/s/{uid:path}/rows/{number}", "pages.session", "session_rows"),
    RoutedPage("/s/{uid:path}/turns", "pages.session", "session_turns"),
    RoutedPage("/s/{uid:path}/outline", "pages.session", "session_outline"),
    RoutedPage(
        *("/s/{uid:path}/e/{event:path}/inspect", "pages.inspector", "event_inspector"),
        kept_ms=MINUTE_MS,
    ),
    RoutedPage("/s/{uid:path}/e/{event:path}/body", "pages.inspector", "event_body"),
    RoutedPage("/s/{uid:path}/e/{event:path}/image/{number}", "pages.inspector", "event_image"),
    RoutedPage("/s/{uid:path}/e/{event:path}", "pages.session", "session"),
    RoutedPage("/s/{uid:path}", "pages.session", "session"),
)
