"""A store copied into another, either way: everything, or nothing, and the same fingerprint."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forking import start_script

from session_memory.core.errors import CopyUnfinished, NotEmpty
from session_memory.derive.reindex import ensure_index
from session_memory.store import Store, copying, open_store
from session_memory.store.copying import copy_everything
from session_memory.store.migrations import all_tables
from session_memory.store.store import copy_target
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import check_same, check_sound, collect, contents
from session_memory.testing.stores import PostgresStores, SqliteStores

WAYS = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("postgresql", "postgresql")]
WAYS += [("sqlite", "sqlite")]

Places = Callable[[str, str], str]


@pytest.fixture
def places(server_stores: PostgresStores, tmp_path: Path) -> Iterator[Places]:
    """Where a store of this kind and name is."""
    files = SqliteStores(tmp_path / "store")
    yield lambda kind, name: (files if kind == "sqlite" else server_stores).place(name)
    server_stores.close_places()


@pytest.fixture
def home(claude: ClaudeHome) -> Path:
    """Logs with everything that gives a row: forks, subagents, problems, generations, documents."""
    log = claude.session()
    log.prompt("make it work")
    log.answer("I look.", call("Bash", command="ls"), used=usage(20))
    log.result("a.py\n" * 5000)
    log.answer("done", used=usage(30))
    log.raw(b"{broken\n")
    fork = claude.fork(log, "beta")
    fork.prompt("go on")
    fork.answer("went on", used=usage(40))
    agent = claude.subagent(log, "a1", meta={"toolUseId": log.call_id})
    agent.answer("looked", used=usage(50))
    return claude.write()


def fill(store: Store, home: Path) -> None:
    """Two machines, a rewritten file, and watermarks that no sync sets."""
    collect(store, home)
    collect(store, home, host="there")
    [rewritten] = home.rglob("beta.jsonl")
    rewritten.write_bytes(rewritten.read_bytes().partition(b"\n")[2])
    collect(store, home)
    with store.transaction():
        store.db.execute("update sessions set analyzed_at = 5, analyzed_revision = revision")


def rows_of(store: Store) -> dict[str, list[tuple[object, ...]]]:
    return {
        table: sorted(
            store.db.all(f"select {', '.join(store.db.columns(table))} from {table}"), key=repr
        )
        for table in all_tables()
        if table != copying.INDEX_STATE
    }


@pytest.mark.parametrize(("one", "other"), WAYS, ids=lambda kind: kind)
def test_a_copy_has_every_row_of_every_table(
    one: str, other: str, places: Places, home: Path
) -> None:
    with open_store(places(one, "old")) as old, open_store(places(other, "new")) as new:
        fill(old, home)
        heard: list[int] = []
        rows = copy_everything(old, new, heard.append)
        assert rows_of(new) == rows_of(old)
        assert rows == sum(map(len, rows_of(old).values()))
        assert sum(heard) == sum(row.kept for row in old.sources.every())
        check_same(contents(old), contents(new))
        assert new.fingerprint() == old.fingerprint()
        assert ensure_index(new)
        check_sound(new)


@pytest.mark.parametrize(("one", "other"), WAYS[:2], ids=lambda kind: kind)
def test_the_copy_goes_on_where_the_store_was(
    one: str, other: str, places: Places, home: Path, claude: ClaudeHome
) -> None:
    with open_store(places(one, "old")) as old, open_store(places(other, "new")) as new:
        collect(old, home)
        copy_everything(old, new)
        assert collect(new, home).report.unchanged == collect(old, home).report.unchanged == 3
        claude.logs[0].prompt("more, with a new word for everything")
        claude.logs[0].answer(call("NewTool", question="?"), used=usage(60))
        claude.session("gamma").prompt("and another session")
        claude.write()
        collect(old, home)
        collect(new, home)
        assert new.fingerprint() == old.fingerprint()
        check_sound(new)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_that_holds_something_is_refused(kind: str, places: Places, home: Path) -> None:
    with open_store(places("sqlite", "old")) as old, open_store(places(kind, "new")) as new:
        collect(old, home)
        with new.transaction():
            new.names.numbers["a word"]
        before = new.fingerprint()
        with pytest.raises(NotEmpty) as refused:
            copy_everything(old, new)
        assert refused.value.hint is not None and "empty" in refused.value.hint
        assert new.fingerprint() == before


KILLED = """
import os, signal, sys
from session_memory.store import copying, open_store

one, other, at = sys.argv[1:]
really, seen = copying._batches, []

def dying(rows):
    for batch in really(rows):
        seen.append(1)
        if len(seen) == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch

copying._batches, copying.BATCH_ROWS = dying, 5
with open_store(one) as old, open_store(other) as new:
    copying.copy_everything(old, new)
"""


@pytest.mark.kill
@pytest.mark.parametrize("at", [1, 7, 12])
@pytest.mark.parametrize(("one", "other"), WAYS[:2], ids=lambda kind: kind)
def test_a_copy_that_was_killed_left_nothing_and_can_be_made_again(
    one: str, other: str, at: int, places: Places, home: Path
) -> None:
    with open_store(places(one, "old")) as old:
        collect(old, home)
    victim = start_script(KILLED, places(one, "old"), places(other, "new"), str(at))
    assert victim.wait(timeout=60) == -signal.SIGKILL
    with pytest.raises(CopyUnfinished):
        open_store(places(other, "new"))
    with open_store(places(one, "old")) as old, copy_target(places(other, "new")) as new:
        assert all(not rows for rows in rows_of(new).values())
        copy_everything(old, new)
        assert new.fingerprint() == old.fingerprint()


def test_a_copy_is_of_one_moment(
    places: Places, home: Path, claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody collects into the store while it is being copied."""
    place = places("postgresql", "old")
    with (
        open_store(place) as old,
        open_store(place) as writer,
        open_store(places("sqlite", "new")) as new,
    ):
        collect(old, home)
        before = old.fingerprint()
        claude.logs[0].answer("meanwhile", used=usage(70))
        claude.write()
        really = copying._batches

        def meanwhile(rows: Iterator[copying.Row]) -> Iterator[list[copying.Row]]:
            collect(writer, home)
            return really(rows)

        monkeypatch.setattr(copying, "_batches", meanwhile)
        copy_everything(old, new)
        assert new.fingerprint() == before != writer.fingerprint()
        ensure_index(new)
        check_sound(new)


def test_a_copy_is_made_in_bounded_memory(places: Places) -> None:
    """No batch is larger than its limits say, whatever the rows hold."""
    with open_store(places("sqlite", "old")) as old, open_store(places("sqlite", "new")) as new:
        body = b"x" * 1_000_000
        old.db.insert("dictionaries", ("flavor", "body"), [("claude", body)] * 20)
        sizes: list[int] = []
        insert = new.db.insert
        new.db.insert = lambda table, columns, rows: (  # type: ignore[method-assign]
            sizes.append(len(list(rows))),
            insert(table, columns, rows),
        )[1]
        copy_everything(old, new)
        assert sum(sizes) == 20 and max(sizes) <= 5
