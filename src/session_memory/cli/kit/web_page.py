"""Print the address of a web page, if a web server runs for this store."""

from typing import TYPE_CHECKING
from urllib.parse import quote

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


def remark_page(settings: Settings, store: "Store", uid: str, tab: str = "") -> None:
    """Print the address of a session's page, if the web server runs.

    ``tab`` names one of its views, such as ``digest``.
    """
    if settings.chatty and (server := running_server(store)) is not None:
        remark(settings, f"On the web: {server.page_of(uid)}{f'/{tab}' if tab else ''}")


def remark_answer(settings: Settings, store: "Store", path: str, query: str = "") -> None:
    """Print the address of the page with the same answer, if the web server runs.

    ``path`` is a page such as ``/sessions``, ``query`` what was searched for.
    """
    if settings.chatty and (server := running_server(store)) is not None:
        asked = f"?q={quote(query, safe='')}" if query else ""
        remark(settings, f"On the web: {server.address_of(path)}{asked}")
