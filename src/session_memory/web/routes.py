"""The table of routes: address, page, methods."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.responses import Response

from session_memory.web.asked import Asked
from session_memory.web.pages.session import (
    event_body,
    event_inspector,
    session,
    session_outline,
    session_rows,
    session_turns,
)
from session_memory.web.pages.sessions import sessions

GET = ("GET", "HEAD")


class RoutedPage(NamedTuple):
    path: str
    page: Callable[[Asked], Response]
    methods: tuple[str, ...] = GET


ROUTES = (
    RoutedPage("/", sessions),
    RoutedPage("/sessions", sessions),
    RoutedPage("/s/{uid}", session),
    RoutedPage("/s/{uid}/e/{event}", session),
    RoutedPage("/s/{uid}/rows/{number}", session_rows),
    RoutedPage("/s/{uid}/turns", session_turns),
    RoutedPage("/s/{uid}/outline", session_outline),
    RoutedPage("/s/{uid}/e/{event}/inspect", event_inspector),
    RoutedPage("/s/{uid}/e/{event}/body", event_body),
)
