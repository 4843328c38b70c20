"""The pages in a real browser: in both themes and all widths, alone and with hostile sessions."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import browser
from playwright.sync_api import Browser, Route
from reading.hostile import collected, hostile_home

from session_memory import Memory
from session_memory.config import Config
from session_memory.learn.analyze import analyze
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call, text
from session_memory.web.routes import ROUTES
from session_memory.web.serving import WebServer

from .serving import Watched, served

__all__ = ["browser"]
# A page is loaded in the first look of a row, then it gets the second one.
LOOKS = (((320, "light"), (390, "dark")), ((2560, "dark"), (1440, "light")))
PLAIN = [
    route.path
    for route in ROUTES
    if "{" not in route.path and "GET" in route.methods and not route.path.startswith("/api")
]
OF_A_SESSION = [
    "",
    "/map",
    "/map?by=time",
    "/stretch",
    "/changes",
    "/digest",
    "/cost",
    "/family",
    "/like",
]


@pytest.fixture(scope="module")
def server(demo_store: Path) -> Iterator[WebServer]:
    with served(demo_store) as running:
        yield running


@pytest.fixture(scope="module")
def some_session(demo_store: Path) -> str:
    with Memory(str(demo_store), Config(), create=False) as memory:
        return max(memory.sessions(), key=lambda one: len(list(one.events))).uid


@pytest.mark.parametrize("looks", LOOKS, ids=["narrow", "wide"])
def test_every_page_fits_and_says_nothing(
    browser: Browser, server: WebServer, some_session: str, looks: tuple[tuple[int, str], ...]
) -> None:
    watched = Watched(browser, server)
    for path in [*PLAIN, *(f"/s/{some_session}{tab}" for tab in OF_A_SESSION)]:
        for width, colours in looks:
            watched.page.set_viewport_size({"width": width, "height": 900})
            watched.page.emulate_media(color_scheme=colours)
            if (width, colours) == looks[0]:
                page = watched.open(path)
                page.wait_for_load_state("load")
                assert page.locator("h1").count() == 1, path
                assert "Session Memory" in page.title()
            too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert too_wide <= 0, (path, width)
    assert watched.said == []
    assert watched.elsewhere == []
    watched.close()


def test_search_as_you_type_keeps_the_focus_and_writes_the_address(
    browser: Browser, server: WebServer
) -> None:
    watched = Watched(browser, server)
    page = watched.open("/sessions")
    page.keyboard.press("/")
    page.keyboard.type("tide", delay=5)
    # On a busy machine the hits of "t" are shown first.
    page.wait_for_url(re.compile(r"[?&]q=tide$"))
    page.wait_for_selector("mark")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("zzzq", delay=5)
    page.wait_for_selector("text=Nothing found")
    page.click("text=how was this error solved before?")
    page.wait_for_url("**/errors?q=tidezzzq")
    page.go_back()
    page.wait_for_selector("h1")
    assert watched.said == []
    watched.close()


def test_filters_keep_their_place_while_somebody_types(browser: Browser, server: WebServer) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
    page = watched.open("/sessions")
    assert page.locator(".facets a").count() > 3
    held: list[Route] = []
    page.route("**/sessions?*typed=1*", lambda route: held.append(route))
    page.keyboard.press("/")
    with page.expect_request("**/sessions?q=tide&typed=1"):
        page.keyboard.type("tide")
    assert page.locator(".facets > [inert] a").count() > 3
    page.wait_for_selector("mark")
    held[-1].continue_()
    page.wait_for_selector(".facets:not(:has([inert])) a")
    assert "Found in" in page.inner_text(".facets")
    assert watched.said == []
    watched.close()


def test_keys_alone_reach_a_session_and_its_events(browser: Browser, server: WebServer) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
    page = watched.open("/")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sessions")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/**")
    page.wait_for_selector(".turn")
    page.keyboard.press("j")
    page.wait_for_selector(".ev.sel")
    page.wait_for_selector(".inspect h2")
    page.keyboard.press("]")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.palette[open]")
    page.keyboard.type("keep")
    page.keyboard.press("Enter")
    page.wait_for_url("**/keep")
    assert not page.is_visible(".rail a[href='/why']")
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog.palette[open]")
    page.keyboard.type("why is")
    page.keyboard.press("Enter")
    page.wait_for_url("**/why")
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/cost")
    assert watched.said == []
    watched.close()


@pytest.fixture(scope="module")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one session of several thousand events."""
    place = tmp_path_factory.mktemp("long")
    home = ClaudeHome(place / "home")
    log = home.session("aaaaaaaa", slug="long")
    for number in range(900):
        log.prompt(f"question {number}")
        log.answer(text(f"answer {number}"), call("Bash", f"c{number}", command=f"echo {number}"))
        log.result(f"output {number}")
    home.write()
    collected(home.path, place / "memory.db")
    return place / "memory.db"


def test_a_long_transcript_has_all_events_in_order_and_few_nodes(
    browser: Browser, long_store: Path
) -> None:
    with served(long_store) as server:
        watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
        page = watched.open("/s/aaaaaaaa")
        page.wait_for_selector(".ev")
        seen: dict[int, str] = {}
        parts = page.locator(".part").count()
        assert parts > 50
        for number in [*range(0, parts, 7), parts - 1]:
            page.evaluate(f"document.querySelectorAll('.part')[{number}].scrollIntoView()")
            page.wait_for_selector(f'.part[data-number="{number}"][data-filled]')
            nodes = page.evaluate("document.querySelectorAll('*').length")
            assert nodes <= 6000, nodes
            rows = page.evaluate(
                f"[...document.querySelectorAll('.part[data-number=\"{number}\"] > .ev')]"
                ".map(row => [Number(row.dataset.seq), row.dataset.event])"
            )
            assert [seq for seq, _ in rows] == sorted(seq for seq, _ in rows)
            seen.update((seq, event) for seq, event in rows)
        assert len(set(seen.values())) == len(seen) > 300
        last = max(seen)
        page = watched.open(f"/s/aaaaaaaa/e/{seen[last]}")
        page.wait_for_selector(f"#e{last}.sel")
        assert page.locator(f"#e{last}").is_visible()
        assert watched.said == []
        watched.close()


def test_only_parts_near_the_screen_are_filled(browser: Browser, tmp_path: Path) -> None:
    """Parts of short events are as high as they are from the moment they are filled. Otherwise the
    parts below them move up to the screen and are filled too, until all are."""
    home = ClaudeHome(tmp_path / "home")
    log = home.session("cccccccc", slug="short")
    log.prompt("go")
    for number in range(500):
        log.answer(text(f"answer {number}"))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    with served(tmp_path / "memory.db") as server:
        watched = Watched(browser, server, viewport={"width": 1280, "height": 700})
        page = watched.open("/s/cccccccc")
        page.wait_for_load_state("networkidle")
        parts = page.evaluate(
            "[...document.querySelectorAll('.part')].map("
            "part => ['filled' in part.dataset, part.offsetTop, part.offsetHeight])"
        )
        assert len(parts) == 11
        filled = [(top, height) for is_filled, top, height in parts if is_filled]
        assert 1 < len(filled) < len(parts)
        assert all(height > 700 and top < 5000 for top, height in filled)
        assert watched.said == []
        watched.close()


def test_large_diffs_make_few_nodes_and_lead_to_the_whole(browser: Browser, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("dddddddd", slug="diffs")
    log.prompt("go")
    for number in range(60):
        old, new = (
            "".join(f"def {name}{line}(x: int) -> str: return 'a{line}'\n" for line in range(150))
            for name in ("old", f"new{number}_")
        )
        log.answer(call("Edit", file_path=f"/w/{number}.py", old_string=old, new_string=new))
        log.result("done")
    home.write()
    collected(home.path, tmp_path / "memory.db")
    with served(tmp_path / "memory.db") as server:
        watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
        page = watched.open("/s/dddddddd")
        for share in (0, 0.4, 0.8, 1):
            page.evaluate(f"scrollTo(0, document.documentElement.scrollHeight * {share})")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.querySelectorAll('*').length") <= 6000
        page.evaluate("scrollTo(0, 0)")
        page.click(".diff a:has-text('more lines')")
        page.wait_for_url("**/changes")
        assert page.evaluate("document.querySelectorAll('*').length") <= 40_000
        assert "session-memory diff claude:dddddddd" in page.inner_text("main")
        assert watched.said == []
        watched.close()


def test_new_events_appear_at_the_end_and_never_move_who_reads_above(
    browser: Browser, tmp_path: Path
) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("bbbbbbbb", slug="live")
    for number in range(30):
        log.prompt(f"question {number}")
        log.answer(text(f"answer {number}"))
    home.write()
    store = tmp_path / "memory.db"
    collected(home.path, store)
    with served(store) as server:
        watched = Watched(browser, server, viewport={"width": 1280, "height": 700})
        page = watched.open("/s/bbbbbbbb")
        page.wait_for_selector(".turn")
        page.wait_for_timeout(300)
        log.prompt("this one is new")
        home.write()
        before = page.evaluate(
            "[scrollY, document.querySelector('#e2').getBoundingClientRect().top]"
        )
        collected(home.path, store)
        page.wait_for_selector("[data-new]:not([hidden])")
        assert page.inner_text("[data-new]") == "1 new"
        after = page.evaluate(
            "[scrollY, document.querySelector('#e2').getBoundingClientRect().top]"
        )
        assert after == before
        page.click("[data-new]")
        page.wait_for_selector("text=this one is new")
        log.answer(text("followed to the end"))
        home.write()
        collected(home.path, store)
        page.wait_for_selector("text=followed to the end")
        events = page.evaluate(
            "[...document.querySelectorAll('.ev')].map(row => row.dataset.event)"
        )
        assert len(events) == len(set(events))
        # A list shows what grew, and what is new, in order. Whoever chose a row stays there.
        page = watched.open("/sessions")
        page.wait_for_selector("html.scripted")
        page.keyboard.press("j")
        log.answer(text("and on"))
        home.session("cccccccc", slug="new").prompt("a session that is new")
        home.write()
        collected(home.path, store)
        page.wait_for_selector(".srow:has-text('a session that is new')")
        uids = page.evaluate("[...document.querySelectorAll('a.srow')].map(row => row.dataset.uid)")
        with Memory(str(store), Config(), create=False) as memory:
            assert uids == [one.uid for one in memory.sessions()]
        assert watched.said == []
        watched.close()


def test_hostile_sessions_run_nothing_and_are_shown_to_the_character(
    browser: Browser, tmp_path: Path
) -> None:
    hostile_home(tmp_path / "home")
    store = tmp_path / "memory.db"
    collected(tmp_path / "home", store)
    with open_store(store) as opened:
        analyze(opened)
    with served(store) as server:
        watched = Watched(browser, server)
        paths = ["/", "/sessions", "/sessions?q=script", "/cost?range=all", "/work?all=1", "/learn"]
        paths += [f"/s/evil0000{tab}" for tab in OF_A_SESSION]
        for path in [*paths, "/retro?days=90", "/keep", "/errors?q=<script>alert(1)</script>"]:
            page = watched.open(path)
            page.wait_for_load_state("load")
            assert page.evaluate("window.pwned") is None, path
            assert page.title() != "pwned"
            assert (
                page.locator("iframe, img, base, object, embed, video, [onerror], [onload]").count()
                == 0
            )
            assert page.evaluate(
                "[...document.querySelectorAll('a[href]')]"
                ".every(a => /^(\\/|#|\\?|https?:)/.test(a.getAttribute('href')))"
            ), path
        page = watched.open("/s/evil0000")
        page.wait_for_selector(".ev")
        for width in (390, 1280):  # No text ends outside of its box, where nobody sees it.
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(
                "[document.documentElement, ...document.querySelectorAll('.part, .part .b')]"
                ".every(one => one.scrollWidth <= one.clientWidth)"
            ), width
        shown = page.inner_text("main")
        assert "<script>document.title='pwned'" in shown
        assert "\u202e" not in shown and "\x1b" not in shown
        assert watched.said == []
        assert watched.elsewhere == []
        watched.close()


def test_without_scripts_sessions_and_transcripts_can_be_read(
    browser: Browser, long_store: Path
) -> None:
    with served(long_store) as server:
        watched = Watched(browser, server, java_script_enabled=False)
        page = watched.open("/sessions")
        page.click("a.srow")
        assert "question 0" in page.inner_text(".talk")
        page.click("text=later events")
        assert "question 0" not in page.inner_text(".talk")
        assert page.locator(".ev").count() > 20
        watched.close()


def test_the_server_ends_while_a_page_follows_it(
    browser: Browser, demo_store: Path, tmp_path: Path
) -> None:
    shutil.copyfile(demo_store, tmp_path / "memory.db")
    with served(tmp_path / "memory.db") as server:
        watched = Watched(browser, server)
        watched.open("/sessions")
        watched.page.wait_for_timeout(200)
    watched.close()
