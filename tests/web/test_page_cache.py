"""A page is made once as long as what it shows stays the same, and again afterwards."""

import shutil
from pathlib import Path

import pytest
from starlette.responses import HTMLResponse

from session_memory import Memory
from session_memory.views.outline import outline
from session_memory.web.page_cache import Dependency, PageCache
from session_memory.web.routes import MINUTE_MS
from session_memory.web.site import Site

from .conftest import Client


def test_a_page_is_made_again_after_a_write_that_it_depends_on(
    client_of: Client, demo_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "memory.db"
    shutil.copyfile(demo_store, store)
    client = client_of(store)
    monkeypatch.setattr("session_memory.web.page_cache.now_ms", lambda: 0)
    added: list[object] = []
    real = PageCache.add

    def noted(self: PageCache, asked: tuple[object, ...], *more: object) -> None:
        added.append(asked[0])
        real(self, asked, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(PageCache, "add", noted)

    def is_made(*paths: str) -> list[bool]:
        added.clear()
        answers = [client.get(path) for path in paths]
        assert {answer.status_code for answer in answers} == {200}
        return [path in added for path in paths]

    with Memory(str(store), create=False) as memory:
        one, other, *_ = memory.sessions()
        pages = ("/sessions", f"/s/{one.uid}", f"/s/{other.uid}")
        assert is_made(*pages) == [True, True, True]
        assert is_made(*pages) == [False, False, False]
        one.set_task("#4711")
        assert is_made(*pages) == [True, True, False]
        other.set_name("A name")
        assert is_made(*pages) == [True, False, True]
        assert "A name" in client.get(pages[2]).text


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_memory.web.page_cache.MOST_BYTES", 1000)
    cache = PageCache()
    for number in range(50):
        cache.add(number, Dependency(0), HTMLResponse("x" * 100), MINUTE_MS)

    def is_kept(number: int) -> bool:
        return cache.get(number, 0, lambda: None) is not None

    assert sum(map(is_kept, range(50))) == 10
    assert is_kept(49)


def test_only_an_answer_that_took_long_lags(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("session_memory.web.page_cache.time.monotonic", lambda: clock[0])
    cache = PageCache()
    for asked, took in (("quick", 0.1), ("slow", 2.0)):
        cache.add(asked, Dependency(1), HTMLResponse(asked), 1 << 60, took)

    def is_kept(asked: str) -> bool:
        return cache.get(asked, 2, lambda: None) is not None

    assert (is_kept("quick"), is_kept("slow")) == (False, True)
    clock[0] += 20
    assert not is_kept("slow")


@pytest.mark.only("sqlite")
def test_outlines_are_kept_up_to_a_number_of_parts(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    uids = [one.uid for one in memory.sessions(limit=4)]
    monkeypatch.setattr("session_memory.web.site.MOST_PARTS", 1)
    # As if each outline took long to make: it is then packed and made anew.
    monkeypatch.setattr("session_memory.web.site.SLOW_S", -1.0)
    site = Site()
    for uid in uids:
        assert site.outline(memory, uid, -1) == outline(memory.store, uid)
    assert [uid for uid in uids if site.kept_outline(uid)] == uids[-1:]
