"""Hooks read a store without the modules of `Store`. They get the same rows."""

from collections.abc import Iterator

import pytest

from session_memory.store import quick_reading
from session_memory.store.libpq_rows import library
from session_memory.store.quick_reading import CannotRead, QuickReader
from session_memory.testing.stores import Stores

NASTY = "a 'quoted' %s \\ :name “text” 🙂\n\ttab"


@pytest.fixture(params=["library", "psycopg"])
def where(
    stores: Stores, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    place = str(stores.place("quick"))
    if request.param == "psycopg":
        if not place.startswith("postgres"):
            pytest.skip("a file is read in one way")
        monkeypatch.setattr("session_memory.store.libpq_rows.library", lambda: None)
    yield place


def test_values_of_all_kinds_come_back(where: str) -> None:
    reader = QuickReader(where)
    try:
        asked = (
            "select count(*), cast(:n as bigint), cast(:none as bigint), ':no' || 'x' from sessions"
        )
        assert reader.all(asked, {"n": -(1 << 60), "none": None}) == [(0, -(1 << 60), None, ":nox")]
        text = "select cast(:text as text), coalesce(cast(:other as text), '')"
        assert reader.one(text, {"text": NASTY, "other": ""}) == (NASTY, "")
        assert reader.value("select cast(:n as bigint) + :n", {"n": 4}) == 8
        keys = [f"k{number}" for number in range(900)]
        assert list(reader.matching("select uid from sessions where uid in ({keys})", keys)) == []
    finally:
        reader.close()


def test_nothing_can_be_written_and_a_wrong_statement_is_said(where: str) -> None:
    reader = QuickReader(where)
    try:
        for sql in ("delete from sessions", "select nothing from nowhere"):
            with pytest.raises(CannotRead):
                reader.all(sql)
        assert reader.value("select count(*) from sessions") == 0
    finally:
        reader.close()


@pytest.mark.only("sqlite")
def test_a_server_that_is_not_there_is_said_without_the_address() -> None:
    assert library() is not None
    with pytest.raises(CannotRead) as raised:
        QuickReader("postgres://someone:hunter2@127.0.0.1:1/none")
    assert str(raised.value) == "the server does not answer: ServerError"
    assert "hunter2" not in str(raised.value) and quick_reading.newest_step() > 0


@pytest.mark.only("postgresql")
def test_bytes_come_back_whatever_form_the_server_prefers(where: str) -> None:
    # The address of a test has options: its tables are in a schema of their own.
    assert "options=" in where
    reader = QuickReader(where.replace("options=", "options=-c%20bytea_output%3Descape%20"))
    try:
        data = b"\0\\x41\xff'"
        assert bytes(reader.value("select cast(:data as bytea)", {"data": data})) == data
    finally:
        reader.close()
