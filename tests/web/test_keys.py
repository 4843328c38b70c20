"""Every key of the help, on every page where it does something; replay; and the same on a phone."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import browser
from playwright.sync_api import Browser, Page

from session_memory.store import open_store
from session_memory.views.outline import Outline, outline
from session_memory.web.serving import WebServer
from session_memory.web.site import PLACES

from .serving import Watched, served

__all__ = ["browser"]
pytestmark = pytest.mark.only("sqlite")
FRAME_MS = 16
CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture(scope="module")
def server(demo_store: Path) -> Iterator[WebServer]:
    with served(demo_store) as running:
        yield running


@pytest.fixture(scope="module")
def outlines(demo_store: Path) -> dict[str, Outline]:
    with open_store(demo_store) as store:
        return {uid: outline(store, uid) for uid in store.sessions.uids()}


def until(page: Page, expression: str) -> None:
    """Wait for an expression. The policy of our pages forbids `Page.wait_for_function`."""
    for _ in range(500):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(expression)


def at_event(page: Page, seq: int) -> None:
    until(page, f"document.querySelector('.ev.sel')?.dataset.seq == '{seq}'")


def go_to(page: Page, seq: int) -> None:
    page.evaluate(f"document.dispatchEvent(new CustomEvent('go-to', {{detail: {seq}}}))")
    at_event(page, seq)


def check_help_and_search(page: Page) -> None:
    page.wait_for_selector("html.scripted")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] dl")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q", page.url
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.name") is None, page.url


def test_keys_that_work_on_every_page(browser: Browser, server: WebServer) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 800})
    for path in ("/lessons", "/retro", "/errors", "/settings"):
        page = watched.open(path)
        check_help_and_search(page)
    for place in PLACES:
        page.keyboard.press("g")
        page.keyboard.press(place.key)
        page.wait_for_url(f"**{place.path}")
        check_help_and_search(page)
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sessions")
    page.wait_for_selector("html.scripted")
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    until(page, "[...document.querySelectorAll('a.srow')].findIndex(r => 'at' in r.dataset) == 0")
    page.keyboard.press("Escape")
    page.wait_for_url("**/keep")
    assert watched.said == []
    watched.close()


def with_marks(outlines: dict[str, Outline]) -> tuple[str, dict[str, list[int]]]:
    """The session with most marks, and its places by the key that goes there."""
    sorts = {"n": ("error", "failed"), "t": ("passed", "failed"), "e": ("edit",), "]": ("prompt",)}
    uid, found = max(outlines.items(), key=lambda pair: len({m.sort for m in pair[1].marks}))
    return uid, {
        key: [mark.seq for mark in found.marks if mark.sort in wanted]
        for key, wanted in sorts.items()
    }


def test_keys_of_a_session_go_there_and_back(
    browser: Browser, server: WebServer, outlines: dict[str, Outline]
) -> None:
    uid, places = with_marks(outlines)
    watched = Watched(
        browser, server, viewport={"width": 1280, "height": 700}, permissions=CLIPBOARD
    )
    page = watched.open(f"/s/{uid}")
    page.wait_for_selector(".map svg")
    page.keyboard.press("j")
    page.wait_for_selector(".ev.sel")
    start = int(page.get_attribute(".ev.sel", "data-seq") or -1)
    for key, back in (("n", "N"), ("t", "T"), ("e", "E"), ("]", "[")):
        first, second, *_ = [*(seq for seq in places[key] if seq > start), -1, -1]
        go_to(page, start)
        if first > 0:
            page.keyboard.press(key)
            at_event(page, first)
        if second > 0:
            page.keyboard.press(key)
            at_event(page, second)
            page.keyboard.press(back)
            at_event(page, first)
    page.keyboard.press("y")
    until(page, "navigator.clipboard.readText().then(text => text.includes('/e/'))")
    page.keyboard.press("c")
    until(page, "navigator.clipboard.readText().then(text => !text.includes('/e/'))")
    page.keyboard.press(" ")
    page.wait_for_selector(".ev.sel.full")
    page.keyboard.press(" ")
    page.wait_for_selector(".ev.sel:not(.full)")
    page.keyboard.press("h")
    page.wait_for_selector(".reader.hides")
    page.keyboard.press("h")
    page.wait_for_selector(".reader:not(.hides)")
    page.keyboard.press("G")
    until(page, "innerHeight + scrollY >= document.documentElement.scrollHeight - 80")
    assert watched.said == []
    watched.close()


def test_keys_between_sessions(
    browser: Browser, server: WebServer, outlines: dict[str, Outline]
) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 700})
    parent, child = next(
        (uid, lane.uid)
        for uid, found in outlines.items()
        for lane in found.lanes
        if lane.sort == "subagent"
    )
    page = watched.open(f"/s/{child}")
    page.wait_for_selector("html.scripted")
    page.keyboard.press("u")
    page.wait_for_url(f"**/s/{parent}")
    page.wait_for_selector(".talk .ev")
    page.keyboard.press("Escape")
    page.wait_for_url(f"**/s/{child}")
    branched = [
        (uid, sorted(lane.seq for lane in found.lanes if lane.seq and lane.sort != "subagent"))
        for uid, found in outlines.items()
    ]
    uid, seqs = max(branched, key=lambda pair: len(pair[1]))
    assert seqs
    page = watched.open(f"/s/{uid}")
    page.wait_for_selector(".map svg")
    page.keyboard.press("b")
    at_event(page, seqs[0])
    last = page.evaluate("Number([...document.querySelectorAll('.talk .ev')].at(-1).dataset.seq)")
    go_to(page, last)
    page.keyboard.press("B")
    at_event(page, [seq for seq in seqs if seq < last][-1])
    assert watched.said == []
    watched.close()


def test_a_replay_skips_breaks_and_shows_places_one_by_one_without_motion(
    browser: Browser, server: WebServer, outlines: dict[str, Outline]
) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 500})
    page = watched.page
    page.clock.install()
    for uid in outlines:
        page = watched.open(f"/s/{uid}")
        page.wait_for_selector(".map svg[data-points]", state="attached")
        drawing = page.locator(".map svg[data-points]")
        gaps = json.loads(drawing.get_attribute("data-gaps") or "[]")
        if gaps:
            break
    assert gaps
    scale = float(drawing.get_attribute("data-ms") or 0)
    points = json.loads(drawing.get_attribute("data-points") or "[]")
    page.wait_for_selector(".map .screen", state="attached")
    page.clock.pause_at(time.time() + 3600)
    frame = [float(page.get_attribute(".map .screen", name) or 0) for name in ("x", "width")]
    left = points[-1][0] - (frame[0] + frame[1] / 2)
    skipped = sum(last - first for first, last in gaps)
    for _ in range(2):
        page.keyboard.press("p")
    assert page.locator('[data-speed="8"][aria-pressed="true"]').count() == 1
    # Breaks are skipped, so that it ends that much sooner.
    assert skipped * scale / 8 > 3 * FRAME_MS
    page.clock.run_for(round((left - skipped) * scale / 8) + 2 * FRAME_MS)
    assert page.locator('[data-speed][aria-pressed="true"]').count() == 0
    watched.page.emulate_media(reduced_motion="reduce")
    page.evaluate("scrollTo(0, 0)")
    page.clock.run_for(100)
    shown = []
    for _ in range(3):
        page.keyboard.press("p")
        page.clock.run_for(100)
        shown.append(page.evaluate("scrollY"))
        assert page.locator('[data-speed][aria-pressed="true"]').count() == 0
    assert shown == sorted(shown)
    assert watched.said == []
    watched.close()


def test_on_a_phone_a_session_can_be_named_and_replayed(
    browser: Browser, server: WebServer, outlines: dict[str, Outline]
) -> None:
    uid, _ = with_marks(outlines)
    watched = Watched(browser, server, viewport={"width": 390, "height": 844}, has_touch=True)
    page = watched.open(f"/s/{uid}")
    page.wait_for_selector(".map svg[data-points]")
    page.tap(".naming summary")
    box = page.locator(".naming form").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.tap(".naming summary")
    page.tap('[data-speed="8"]')
    page.wait_for_selector('[data-speed="8"][aria-pressed="true"]')
    page.tap('[data-speed="8"]')
    page.wait_for_selector('[data-speed="8"][aria-pressed="false"]')
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert watched.said == []
    watched.close()
