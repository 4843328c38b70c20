"""A real browser for tests: the Chromium of the system."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of the system.

    Playwright keeps an event loop running in this thread, in which no other test could use
    asyncio. So it ends with the module, not with the whole run.
    """
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI"):
            raise FileNotFoundError("no Chromium: apt-get install chromium")
        pytest.skip("NO PAGE IS OPENED IN A BROWSER: install chromium")
    # Chromium refuses its sandbox to root; the pages are ours.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # Without a simulated graphics card the processor has less to do.
    arguments += ["--disable-gpu", "--disable-software-rasterizer", "--in-process-gpu"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()
