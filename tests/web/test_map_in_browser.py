"""The map in a real browser: frame, scrubbing, stretches, hits, replay, and the keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import browser
from playwright.sync_api import Browser, Page

from session_memory import Memory
from session_memory.config import Config
from session_memory.pricing import shown as money
from session_memory.views.stretch import stretch
from session_memory.web.serving import WebServer

from .serving import Watched, served

__all__ = ["browser"]
SESSION = "91d4f0a7"


@pytest.fixture(scope="module")
def server(demo_store: Path) -> Iterator[WebServer]:
    with served(demo_store) as running:
        yield running


def until(page: Page, expression: str) -> None:
    """Wait for an expression. The policy of our pages forbids `Page.wait_for_function`."""
    for _ in range(500):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(expression)


def frame_of(page: Page) -> float:
    return float(page.get_attribute(".map .screen", "x") or 0)


def chosen(page: Page) -> int:
    return int(page.get_attribute(".ev.sel", "data-seq") or -1)


def drag(page: Page, first: float, last: float, *, shift: bool = False) -> None:
    box = page.locator(".map svg[data-points]").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] * 0.4
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * first, y)
    page.mouse.down()
    for part in (0.5, 1.0):
        page.mouse.move(box["x"] + box["width"] * (first + (last - first) * part), y)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def test_the_map_scrubs_chooses_finds_and_replays(
    browser: Browser, server: WebServer, demo_store: Path
) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 500})
    page = watched.open(f"/s/{SESSION}")
    page.wait_for_selector(".map .screen:not([hidden])")
    start = frame_of(page)
    drag(page, 0.1, 0.7)
    until(page, f"Number(document.querySelector('.map .screen').getAttribute('x')) > {start + 50}")
    drag(page, 0.2, 0.9, shift=True)
    page.wait_for_selector(".inspect >> text=/Events \\d+ to \\d+/")
    found = re.search(r"Events (\d+) to (\d+)", page.inner_text(".inspect"))
    assert found is not None
    with Memory(str(demo_store), Config(), create=False) as memory:
        uid = memory.session(SESSION).uid
        cost = stretch(memory.store, uid, int(found[1]), int(found[2])).tally.amount
        hits = memory.search("tide", session=uid, limit=500).hits
    assert money(cost) in page.inner_text(".inspect") and page.locator(".map .choice").count() == 1
    page.keyboard.press("f")
    page.keyboard.type("tide")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ev.sel")
    ticks = page.locator(".map .hits-in path").count()
    assert 0 < ticks <= len(hits)
    page.keyboard.press("Escape")
    # By keys: a stretch from the chosen event to one that follows.
    first = chosen(page)
    page.keyboard.press("v")
    page.keyboard.press("j")
    until(page, f"document.querySelector('.ev.sel').dataset.seq != '{first}'")
    last = chosen(page)
    page.keyboard.press("v")
    page.wait_for_selector(f".inspect >> text=Events {first} to {last}")
    page.evaluate("scrollTo(0, 0)")
    for speed in (1, 8, 64):
        page.keyboard.press("p")
        page.wait_for_selector(f'[data-speed="{speed}"][aria-pressed="true"]')
    until(page, f"Number(document.querySelector('.map .screen').getAttribute('x')) > {start + 20}")
    page.keyboard.press("p")
    assert page.locator('[data-speed][aria-pressed="true"]').count() == 0
    assert watched.said == []
    watched.close()


def test_every_key_of_a_session_does_what_the_help_says(
    browser: Browser, server: WebServer
) -> None:
    viewport = {"width": 1280, "height": 900}
    watched = Watched(browser, server, viewport=viewport, reduced_motion="reduce")
    page = watched.open(f"/s/{SESSION}")
    page.wait_for_selector(".map svg")
    marks = page.evaluate(
        "fetch(document.querySelector('[data-map]').dataset.map).then(r => r.json())"
    )
    sorts = {"n": ("error", "failed"), "t": ("passed", "failed"), "e": ("edit",), "]": ("prompt",)}
    pressed = 0
    for key, wanted in sorts.items():
        page.evaluate("scrollTo(0, 0)")
        page.keyboard.press("j")
        page.wait_for_selector(".ev.sel")
        at = chosen(page)
        following = [m["seq"] for m in marks["marks"] if m["sort"] in wanted and m["seq"] > at]
        if following:
            page.keyboard.press(key)
            until(page, f"document.querySelector('.ev.sel').dataset.seq == '{following[0]}'")
            pressed += 1
        page.keyboard.press("Escape")
    assert pressed >= 3
    page.keyboard.press("b")
    page.keyboard.press("i")
    assert not page.locator(".inspect").is_visible()
    page.keyboard.press("i")
    assert page.locator(".inspect").is_visible()
    # Who asked for less motion sees the next place with each press.
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("p")
    assert page.locator('[data-speed][aria-pressed="true"]').count() == 0
    page.keyboard.press("j")
    page.wait_for_selector(".ev.sel")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.ev.sel')")
    page.keyboard.press(".")
    page.wait_for_url("**depth=full")
    page.keyboard.press("m")
    page.wait_for_url("**/map")
    page = watched.open("/s/7ac31f58")
    page.wait_for_selector(".talk details.sub-ag")
    page.keyboard.press("s")
    page.wait_for_selector(".talk details.sub-ag[open] .inside .ev")
    page.keyboard.press("s")
    assert page.locator(".talk details.sub-ag[open]").count() == 0
    page.keyboard.press("?")
    listed = page.inner_text("dialog[open] dl")
    for key in ("b", "s", "i", "p", "v", "x", "u", "G", "y", "c"):
        assert re.search(rf"(^|\s){key}(\s|$)", listed), key
    assert watched.said == []
    watched.close()


def test_rows_that_are_new_and_rows_that_are_compared(browser: Browser, server: WebServer) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
    page = watched.open("/sessions")
    assert page.locator(".srow.fresh").count() == 0
    page.evaluate("sessionStorage.visit = '1'")
    page.reload()
    rows = page.locator(".srow").count()
    assert page.locator(".srow.fresh").count() == rows > 2
    page.click(".srow")
    page.wait_for_selector(".reader")
    page.go_back()
    until(page, f"document.querySelectorAll('.srow.fresh').length == {rows - 1}")
    page.reload()
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    page.wait_for_selector("a.pill")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?a=*&b=*")
    assert watched.said == []
    watched.close()
