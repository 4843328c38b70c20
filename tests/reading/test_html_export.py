"""The exported page in a real browser: it runs nothing, fetches nothing, and shows everything."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from session_memory.testing.claude import ClaudeHome, text

from .hostile import MARKUP, collected, hostile_home

FORBIDDEN = "script, iframe, img, svg, link, object, embed, form, base, input, video, audio"


class Counter(ThreadingHTTPServer):
    """A server on this machine that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Counter)
        self.server.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        """Nothing on stderr."""


@pytest.fixture
def server() -> Iterator[Counter]:
    with Counter() as started:
        thread = threading.Thread(target=started.serve_forever)
        thread.start()
        yield started
        started.shutdown()
        thread.join()


class Seen:
    """A page and everything that it tried."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def opens(self, path: Path) -> "Seen":
        self.page.goto(path.as_uri(), wait_until="load")
        return self

    def is_pwned(self) -> bool:
        return bool(self.page.evaluate("'pwned' in window || document.title === 'pwned'"))


@pytest.fixture
def seen(browser: Browser) -> Iterator[Seen]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Seen(context.new_page())
    context.close()


@pytest.fixture
def exported(run: Callable[..., Any], tmp_path: Path, server: Counter) -> Path:
    home = hostile_home(tmp_path / "home", server.address)
    collected(home.path, tmp_path / "memory.db")
    page = tmp_path / "page.html"
    result = run("export", "--format", "html", "evil0000", "-o", str(page), "--no-redact")
    assert result.exit_code == 0, result.stderr
    return page


def test_a_page_that_attacks_is_noticed(seen: Seen, server: Counter, tmp_path: Path) -> None:
    """What the next test relies on: without our care, all of this happens."""
    page = tmp_path / "naive.html"
    page.write_text(f"<!doctype html><title>x</title>{MARKUP.format(server=server.address)}")
    seen.opens(page)
    assert seen.is_pwned()
    assert any(server.address in url for url in seen.requests)
    assert server.asked


def test_a_hostile_session_runs_nothing_and_asks_for_nothing(
    seen: Seen, server: Counter, exported: Path
) -> None:
    page = seen.opens(exported).page
    assert seen.requests == [exported.as_uri()]
    assert server.asked == []
    assert not seen.is_pwned() and not seen.dialogs
    assert page.locator(FORBIDDEN).count() == 0
    assert page.locator("meta[http-equiv=refresh]").count() == 0
    handlers = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    names = set(page.evaluate(handlers))
    assert not [name for name in names if name.startswith("on")]
    assert names <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "rel", "open")
    }


def test_links_lead_to_places_on_the_page_or_on_the_web(seen: Seen, exported: Path) -> None:
    page = seen.opens(exported).page
    links = page.evaluate("[...document.links].map(a => a.getAttribute('href'))")
    assert links
    assert all(link.startswith(("#", "http://", "https://")) for link in links)


def test_everything_is_there_to_read(seen: Seen, exported: Path) -> None:
    page = seen.opens(exported).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    words = page.inner_text("body")
    assert words.count("<script>document.title='pwned'") > 10
    assert "\\x1b[2J" in words and "\\u202egnp.exe" in words and "\\ud800" in words
    assert not set("\x1b\x9b\u202e\u200b\ufeff") & set(page.content())


def test_the_page_forbids_scripts_and_pictures_even_to_itself(
    seen: Seen, server: Counter, exported: Path
) -> None:
    page = seen.opens(exported).page
    page.evaluate(
        "address => new Promise(done => {"
        " const script = document.createElement('script');"
        " script.textContent = 'window.pwned = 1'; document.body.append(script);"
        " const image = new Image(); image.onerror = image.onload = done; image.src = address; })",
        f"{server.address}/late",
    )
    assert not seen.is_pwned()
    assert server.asked == []


def test_prompts_are_listed_and_subagents_nested(
    seen: Seen, demo: Callable[..., Any], tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    assert demo("export", "--format", "html", "7ac3", "-o", str(target)).exit_code == 0
    page = seen.opens(target).page
    (prompt,) = page.locator(".toc a").all()
    assert prompt.inner_text().startswith("The nightly import prints hundreds")
    prompt.click()
    assert page.evaluate("document.querySelector(':target').className") == "prompt"
    nested = page.locator("details.subagent[open]")
    assert "Looking for date parsing." in nested.inner_text()
    assert "$0.0197" in nested.locator("summary").first.inner_text()
    assert page.locator(".diff .ad").count() == 4
    # Output is folded: there, and opened by a click alone.
    output = page.locator("details.result pre").first
    assert not output.is_visible()
    page.locator("details.result summary").first.click()
    assert output.is_visible()


def test_a_line_of_a_megabyte_is_one_page(
    seen: Seen, run: Callable[..., Any], tmp_path: Path
) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("huge0000")
    log.prompt("go")
    log.answer(text("<b>[x](" * 150_000))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    target = tmp_path / "page.html"
    assert run("export", "--format", "html", "huge0000", "-o", str(target)).exit_code == 0
    page = seen.opens(target).page
    assert page.locator("main b:not(.who b)").count() == 0
    assert page.evaluate("document.querySelector('.answer pre').textContent.length") == 1_050_000
