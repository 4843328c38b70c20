"""Sources found by path have the rows that the store has, without holding all of them."""

from collections.abc import Iterator

import pytest

from session_memory.store import Store, open_store
from session_memory.store.known_sources import KnownSources
from session_memory.store.sources import NO_INODE, SourceRow
from session_memory.testing.stores import Stores

HOST = "here"


def _row(path: str, **fields: object) -> SourceRow:
    given = {"host": HOST, "flavor": "claude", "role": "log", "home_path": path, "ingested_at": 1}
    return SourceRow(path=path, **{**given, **fields})  # type: ignore[arg-type]


@pytest.fixture
def store(stores: Stores) -> Iterator[Store]:
    with open_store(stores.place("known")) as opened:
        yield opened


def _saved(store: Store, *rows: SourceRow) -> None:
    with store.transaction():
        for row in rows:
            store.sources.save(row)


def test_rows_are_those_of_the_store(store: Store) -> None:
    _saved(
        store,
        _row("/a", superseded=1),
        _row("/a", generation=1),
        _row("/b", vanished=1),
        _row("/c", inode=NO_INODE),
        _row("/d", host="elsewhere"),
        _row("/e"),
    )
    known, rows = KnownSources(store.db, HOST), store.sources.known(HOST)
    known.load(["/a", "/e", "/unknown"])
    assert set(known.loaded) == {"/a", "/e"}
    for path in ("/a", "/b", "/c", "/d", "/e", "/unknown"):
        assert known.get(path) == rows.get(path)
    assert {source.path for source in known.expected()} == {"/a", "/e"}


def test_two_paths_with_one_hash_are_told_apart(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.store.known_sources.hash", lambda _: 1, raising=False)
    _saved(store, _row("/a"), _row("/b"))
    known = KnownSources(store.db, HOST)
    known.load(["/a"])
    for path in ("/a", "/b"):
        found = known.get(path)
        assert found is not None and found.path == path
    assert known.get("/c") is None


def test_some_rows_alone_are_known_without_asking_the_store(store: Store) -> None:
    _saved(store, _row("/a"), _row("/b"))
    known = KnownSources(store.db, HOST, store.sources.known_at(HOST, ["/a"]))
    assert known.get("/a") is not None
    assert known.get("/b") is None
