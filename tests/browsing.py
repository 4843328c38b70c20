"""A real browser for tests: the Chromium of the system."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, sync_playwright

# The first has no window and no services of a desktop, and so half as much to do.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


_RUNNING: list[tuple[Browser, ExitStack]] = []


@pytest.fixture
def browser() -> Iterator[Browser]:
    """The Chromium of the system, one for all tests that follow each other."""
    if not _RUNNING:
        _RUNNING.append(_started())
    started, _ = _RUNNING[0]
    yield started
    # A page that stays open asks its server again and again.
    for context in started.contexts:
        context.close()


def close_browser() -> None:
    """End the browser.

    Playwright keeps an event loop running in this thread, in which no other test could use
    asyncio. So `conftest.py` calls this before the first test that takes no browser.
    """
    while _RUNNING:
        _, ending = _RUNNING.pop()
        ending.close()


def _started() -> tuple[Browser, ExitStack]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI"):
            raise FileNotFoundError("no Chromium: apt-get install chromium")
        pytest.skip("NO PAGE IS OPENED IN A BROWSER: install chromium")
    # Chromium refuses its sandbox to root; the pages are ours.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # Without a simulated graphics card the processor has less to do.
    arguments += ["--disable-gpu", "--disable-software-rasterizer", "--in-process-gpu"]
    with ExitStack() as ending:
        playwright = ending.enter_context(sync_playwright())
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        ending.callback(started.close)
        return started, ending.pop_all()
