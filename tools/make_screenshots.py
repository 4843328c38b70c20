"""Make the pictures of the web page in docs/web, from the demo sessions.

    python tools/make_screenshots.py

Needs Chromium. Run it after the look of a page has changed, and look at the pictures.
"""

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from session_memory import Memory
from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.demo import demo_roots
from session_memory.learn.analyze import analyze
from session_memory.store import open_store
from session_memory.web.serving import WebServer

PLACE = Path(__file__).parent.parent / "docs" / "web"
SESSION = "91d4f0a7"
PAGES = {
    "overview": "/",
    "sessions": "/sessions",
    "search": "/sessions?q=tide",
    "session": f"/s/{SESSION}",
    "event": f"/s/{SESSION}/e/30",
    "errors": "/errors?q=NameError: name 'settings' is not defined",
    "map": f"/s/{SESSION}/map?by=cost",
    "cost": "/cost?range=all&by=outcome",
    "work": "/work?all=1",
    "changes": f"/s/{SESSION}/changes",
    "digest": f"/s/{SESSION}/digest",
    "session-cost": f"/s/{SESSION}/cost",
    "family": f"/s/{SESSION}/family",
    "learn": "/learn",
    "lessons": "/lessons",
    "retro": "/retro?days=30&until=2026-11-13",
    "keep": "/keep",
    "settings": "/settings",
}
WIDTH, HEIGHT = 1200, 760


def main() -> None:
    os.environ["TZ"] = "UTC"
    time.tzset()
    browsers = ("chromium", "google-chrome", "chromium-headless-shell")
    path = next(filter(None, map(shutil.which, browsers)), None)
    if path is None:
        raise SystemExit("no Chromium: apt-get install chromium")
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        store = Path(scratch) / "memory.db"
        config = Config()
        with open_store(store) as opened:
            sync(opened, config, roots(config, demo_roots()), host="demo")
            analyze(opened)
        server = WebServer(lambda: Memory(str(store), config, create=False))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=path, args=arguments)
            for scheme in ("light", "dark"):
                _picture(browser, server, scheme)
            browser.close()
        finally:
            server.stop()
            thread.join()


def _picture(browser: Browser, server: WebServer, scheme: str) -> None:
    viewport = {"width": WIDTH, "height": HEIGHT}
    context = browser.new_context(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(server.address)
    for name, path in PAGES.items():
        page.goto(f"http://127.0.0.1:{server.port}{path}")
        page.wait_for_timeout(700)
        page.screenshot(path=PLACE / f"{name}-{scheme}.png")
    context.close()


if __name__ == "__main__":
    main()
