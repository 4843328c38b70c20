"""The page of a session on the web server, if one runs for this store."""

from typing import TYPE_CHECKING

from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.store import Store
    from session_memory.web.running import Running


def running_server(store: "Store") -> "Running | None":
    """The web server of this store; None if none runs."""
    from session_memory.web.running import mark_of, running

    found = running(mark_of(store))
    return found if found is not None and found.is_alive else None


def remark_page(settings: Settings, store: "Store", uid: str) -> None:
    """Name the session's page, if the web server runs."""
    if settings.chatty and (server := running_server(store)) is not None:
        remark(settings, f"On the web: {server.page_of(uid)}")
