"""A page is made once as long as nobody writes, and again as soon as somebody did."""

import shutil
from pathlib import Path

import pytest

from session_memory import Memory
from session_memory.web.page_cache import PageCache

from .conftest import Client


def test_a_page_is_made_again_after_a_write(
    client_of: Client, demo_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "memory.db"
    shutil.copyfile(demo_store, store)
    client = client_of(store)
    found: list[bool] = []
    real = PageCache.get

    def noted(self: PageCache, key: object) -> object:
        answer = real(self, key)  # type: ignore[arg-type]
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(PageCache, "get", noted)
    first = client.get("/sessions").text
    assert client.get("/sessions").text == first
    assert found[-1] is True
    with Memory(str(store), create=False) as memory:
        one = next(iter(memory.sessions()))
        one.set_task("#4711")
    assert client.get("/sessions").status_code == 200
    assert found[-1] is False


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.responses import HTMLResponse  # noqa: PLC0415

    monkeypatch.setattr("session_memory.web.page_cache.MOST_BYTES", 1000)
    cache = PageCache()
    for number in range(50):
        cache.add(number, HTMLResponse("x" * 100))
    assert sum(cache.get(number) is not None for number in range(50)) == 10
    assert cache.get(49) is not None
