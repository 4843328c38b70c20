"""What changes in the store is sent to open pages: which sessions, and also after a break."""

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from reading.hostile import collected

from session_memory import Memory
from session_memory.core.errors import StoreBusy
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, text
from session_memory.web.live import StoreState
from session_memory.web.serving import WebServer

from .serving import served

pytestmark = pytest.mark.only("sqlite")
SECONDS = 30


class Listener:
    """A page that listens to the server."""

    def __init__(self, server: WebServer, session: str = "", last: str = "") -> None:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(server.address, timeout=SECONDS).close()
        address = f"http://127.0.0.1:{server.port}/events?session={session}"
        request = urllib.request.Request(address, headers={"Last-Event-ID": last} if last else {})
        self.stream = opener.open(request, timeout=SECONDS)
        assert self.stream.readline() == b": following\n"

    def next(self) -> dict[str, Any]:
        for line in self.stream:
            if line.startswith(b"data: "):
                return dict(json.loads(line[6:]))
        raise AssertionError("the stream ended")


def test_a_page_hears_which_sessions_changed_and_what_it_missed(tmp_path: Path) -> None:
    home, store = ClaudeHome(tmp_path / "home"), tmp_path / "memory.db"
    first, second = home.session("aaaa1111", slug="a"), home.session("bbbb2222", slug="b")
    for log in (first, second):
        log.prompt("What is the tide?")
    home.write()
    collected(home.path, store)
    with served(store) as server:
        any_page, one_page = Listener(server), Listener(server, "claude:aaaa1111")
        second.answer(text("High at noon."))
        home.write()
        collected(home.path, store)
        heard = any_page.next()
        assert [one["uid"] for one in heard["sessions"]] == ["claude:bbbb2222"]
        assert heard["sessions"][0]["events"] == 2
        # The session that a page shows is always named.
        assert {one["uid"] for one in one_page.next()["sessions"]} == {
            "claude:aaaa1111",
            "claude:bbbb2222",
        }
        again = Listener(server, "claude:bbbb2222", last="0").next()
        assert [(one["uid"], one["events"]) for one in again["sessions"]] == [
            ("claude:bbbb2222", 2)
        ]
        for page in (any_page, one_page):
            page.stream.close()


def test_only_sessions_of_another_revision_are_named() -> None:
    before = StoreState(1, "", {"a": (1, 10), "b": (1, 10)})
    now = StoreState(2, "", {"a": (2, 11), "b": (1, 10), "c": (1, 1)})
    assert [one["uid"] for one in now.changed_since(before)] == ["a", "c"]
    assert now.changed_since(None) == []


def test_pages_are_served_and_say_so_if_the_logs_cannot_be_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Memory) -> None:
        raise StoreBusy("the store")

    open_store(tmp_path / "memory.db").close()
    monkeypatch.setattr(Memory, "follow", refused)
    with served(tmp_path / "memory.db", follows=True) as server:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(server.address, timeout=SECONDS).close()
        until = time.monotonic() + SECONDS
        while not caplog.messages and time.monotonic() < until:
            time.sleep(0.01)
        assert "The logs are not followed" in caplog.messages[0]
        with opener.open(f"http://127.0.0.1:{server.port}/settings") as page:
            assert b"not following" in page.read()
