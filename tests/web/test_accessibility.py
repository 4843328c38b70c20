"""Every page in Chromium with axe-core: no serious issue, in light and in dark colours."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import browser
from playwright.sync_api import Browser, Page

from session_memory import Memory
from session_memory.config import Config
from session_memory.web.routes import ROUTES
from session_memory.web.serving import WebServer

from .serving import Watched, served

__all__ = ["browser"]
OF_A_SESSION = [
    "/e/2",
    "/map",
    "/map?by=time",
    "/changes",
    "/digest",
    "/cost",
    "/family",
    "/like",
]
OTHERS = [
    "/sessions?q=tide",
    "/sessions?q=zzzq",
    "/errors?q=AssertionError",
    "/cost?range=all",
    "/s/none",
]
PLAIN = [
    route.path
    for route in ROUTES
    if "{" not in route.path
    and "GET" in route.methods
    and not route.path.startswith("/api")
    # The same page as /learn.
    and route.path != "/patterns"
]
BAD = ("serious", "critical")
RUN = """async (only) => {
    const options = { resultTypes: ["violations"] };
    if (only) options.runOnly = { type: "rule", values: only };
    const found = await axe.run(document, options);
    return found.violations.map(one => [one.impact, one.id, one.nodes.map(node => node.html)]);
}"""


@pytest.fixture(scope="module")
def axe() -> Path:
    """The checker: tools/setup dev installs it from npm."""
    found = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    if not found.exists():
        if os.environ.get("CI") and shutil.which("npm"):
            raise FileNotFoundError("no axe-core: run tools/setup dev")
        pytest.skip("NO PAGE IS CHECKED FOR ACCESSIBILITY: install npm, then run tools/setup dev")
    return found


@pytest.fixture(scope="module")
def server(demo_store: Path) -> Iterator[WebServer]:
    with served(demo_store) as running:
        yield running


def issues(page: Page, only: list[str] | None = None) -> list[Any]:
    return [one for one in page.evaluate(RUN, only) if one[0] in BAD]


@pytest.mark.only("sqlite")
def test_no_page_has_a_serious_issue(
    browser: Browser, server: WebServer, demo_store: Path, axe: Path
) -> None:
    with Memory(str(demo_store), Config(), create=False) as memory:
        uid = max(memory.sessions(), key=lambda one: len(list(one.events))).uid
        pattern = memory.patterns(noise=True).patterns[0].id
    paths = [*PLAIN, *OTHERS, f"/patterns/{pattern}", f"/compare?a={uid}&b={uid}"]
    paths += [f"/s/{uid}{tab}" for tab in OF_A_SESSION]
    # The checker is put into the page from outside, which the page's own policy forbids.
    watched = Watched(browser, server, bypass_csp=True, color_scheme="light")
    watched.page.add_init_script(path=axe)
    found = {}
    for path in paths:
        page = watched.open(path)
        page.emulate_media(color_scheme="light")
        if path.endswith("/e/2"):
            for part in (".turn", "[data-strip] svg", "[data-inspector] h2"):
                page.wait_for_selector(part)
        light = issues(page)
        page.emulate_media(color_scheme="dark")
        if bad := [*light, *issues(page, ["color-contrast"])]:
            found[path] = bad
    lines = [f"{path}: {one[1]} {one[2][:3]}" for path, bad in found.items() for one in bad]
    assert not lines, "\n".join(lines)
    watched.close()


@pytest.mark.only("sqlite")
def test_keys_unfold_hide_open_subagents_and_print(browser: Browser, server: WebServer) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
    watched.page.add_init_script(
        "window.print = () => { document.documentElement.dataset.printed ="
        " String(document.querySelectorAll('.part:not([data-filled])').length) }"
    )
    page = watched.open("/s/91d4f0a7")
    page.wait_for_selector(".turn")
    # Nothing is hidden at first; one key hides what was left behind, and shows it again.
    left = page.locator(".ev.left").first
    assert left.is_visible()
    page.keyboard.press("h")
    assert not left.is_visible() and "hide=1" in page.url
    page.keyboard.press("h")
    assert left.is_visible() and "hide=1" not in page.url
    # Subagents open in place, to any depth.
    page = watched.open("/s/7ac31f58")
    page.wait_for_selector(".turn")
    page.keyboard.press("s")
    page.wait_for_selector(".sub-ag[open] .inside .ev")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    page.keyboard.press("s")
    assert page.locator(".sub-ag[open]").count() == 0
    # Space shows an output in full width, and again as it was.
    page.keyboard.press("j")
    before = page.evaluate("document.querySelector('.talk').offsetWidth")
    page.keyboard.press(" ")
    assert page.evaluate("document.querySelector('.talk').offsetWidth") > before
    page.keyboard.press(" ")
    assert page.evaluate("document.querySelector('.talk').offsetWidth") == before
    # The focus is visible wherever Tab leads.
    for _ in range(30):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "(at => at === document.body || getComputedStyle(at).outlineStyle !== 'none'"
            " || !!at.closest('.find'))(document.activeElement)"
        ), page.evaluate("document.activeElement.outerHTML")
    page.keyboard.press("Control+p")
    page.wait_for_selector("html[data-printed='0']")
    page.emulate_media(media="print")
    for name, is_shown in ((".rail", False), (".inspect", False), (".ev", True)):
        assert page.locator(name).first.is_visible() is is_shown
    assert page.locator("details.more").first.evaluate("one => one.offsetHeight > 40")
    page.emulate_media(media="screen")
    page.keyboard.press(".")
    page.wait_for_url("**?depth=full")
    assert watched.said == [] and watched.elsewhere == []
    watched.close()
