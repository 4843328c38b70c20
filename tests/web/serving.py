"""A real server over a store, in a thread, and a page of it in a real browser."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from session_memory import Memory
from session_memory.config import Config
from session_memory.web.serving import WebServer

SECONDS = 20


@contextmanager
def served(store: Path | str, **options: Any) -> Iterator[WebServer]:
    server = WebServer(lambda: Memory(str(store), Config(), create=False), **options)
    thread = threading.Thread(target=server.run, name="web", daemon=True)
    thread.start()
    until = time.monotonic() + SECONDS
    while not server.is_ready:
        assert thread.is_alive() and time.monotonic() < until, "the server did not start"
        time.sleep(0.01)
    try:
        yield server
    finally:
        server.stop()
        thread.join(SECONDS)
        assert not thread.is_alive(), "the server did not end"


class Watched:
    """A page of a browser, with everything that it must not do."""

    def __init__(self, browser: Browser, server: WebServer, **options: object) -> None:
        self.context = browser.new_context(**options)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.base = f"http://127.0.0.1:{server.port}"
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        self.page.on("request", self._requested)
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', event =>"
            " console.log('violation ' + event.blockedURI + ' ' + event.violatedDirective))"
        )
        self.page.goto(server.address)

    def _requested(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith((f"{self.base}/", "data:")):
            self.elsewhere.append(url)

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.base}{path}")
        return self.page

    def close(self) -> None:
        self.context.close()
