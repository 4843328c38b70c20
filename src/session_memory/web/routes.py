"""The table of routes: address, page, methods."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.responses import Response

from session_memory.web.api import ENDPOINTS, ROOT, openapi, page_of
from session_memory.web.asked import Asked
from session_memory.web.pages.actions import accept_lesson, pin, reject_lesson, unpin
from session_memory.web.pages.compare import compare
from session_memory.web.pages.cost import cost
from session_memory.web.pages.errors import errors
from session_memory.web.pages.keep import keep
from session_memory.web.pages.learn import lesson, lessons, pattern, patterns, retro
from session_memory.web.pages.overview import start
from session_memory.web.pages.session import (
    event_body,
    event_inspector,
    find_in_session,
    session,
    session_outline,
    session_rows,
    session_turns,
)
from session_memory.web.pages.session_map import map_strip, session_map_page
from session_memory.web.pages.session_views import (
    changes,
    digest,
    family,
    like,
    raw,
    session_cost,
)
from session_memory.web.pages.sessions import sessions
from session_memory.web.pages.settings import choose_theme, settings
from session_memory.web.pages.work import work

GET = ("GET", "HEAD")
POST = ("POST",)


class RoutedPage(NamedTuple):
    path: str
    page: Callable[[Asked], Response]
    methods: tuple[str, ...] = GET


ROUTES = (
    RoutedPage(f"{ROOT}/openapi.json", openapi),
    *(RoutedPage(f"{ROOT}{one.path}", page_of(one)) for one in ENDPOINTS),
    RoutedPage("/", start),
    RoutedPage("/sessions", sessions),
    RoutedPage("/cost", cost),
    RoutedPage("/work", work),
    RoutedPage("/learn", patterns),
    RoutedPage("/patterns", patterns),
    RoutedPage("/patterns/{id}", pattern),
    RoutedPage("/lessons", lessons),
    RoutedPage("/lessons/{id}", lesson),
    RoutedPage("/retro", retro),
    RoutedPage("/errors", errors),
    RoutedPage("/keep", keep),
    RoutedPage("/settings", settings),
    RoutedPage("/settings/theme", choose_theme, POST),
    RoutedPage("/lessons/{id}/accept", accept_lesson, POST),
    RoutedPage("/lessons/{id}/reject", reject_lesson, POST),
    RoutedPage("/compare", compare),
    RoutedPage("/s/{uid}", session),
    RoutedPage("/s/{uid}/pin", pin, POST),
    RoutedPage("/s/{uid}/unpin", unpin, POST),
    RoutedPage("/s/{uid}/find", find_in_session),
    RoutedPage("/s/{uid}/e/{event}", session),
    RoutedPage("/s/{uid}/map", session_map_page),
    RoutedPage("/s/{uid}/strip", map_strip),
    RoutedPage("/s/{uid}/changes", changes),
    RoutedPage("/s/{uid}/digest", digest),
    RoutedPage("/s/{uid}/cost", session_cost),
    RoutedPage("/s/{uid}/family", family),
    RoutedPage("/s/{uid}/like", like),
    RoutedPage("/s/{uid}/raw/{event}", raw),
    RoutedPage("/s/{uid}/rows/{number}", session_rows),
    RoutedPage("/s/{uid}/turns", session_turns),
    RoutedPage("/s/{uid}/outline", session_outline),
    RoutedPage("/s/{uid}/e/{event}/inspect", event_inspector),
    RoutedPage("/s/{uid}/e/{event}/body", event_body),
)
