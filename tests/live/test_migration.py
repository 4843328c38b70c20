"""Homes of mycode and databases of power-loop, imported whole: nothing lost, nothing twice."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from effort import times
from late import late_or_skip

from session_memory import Memory, SessionStore
from session_memory.collect.live_histories import collected_histories
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.history import History
from session_memory.live import mycode
from session_memory.live.import_history import import_history
from session_memory.live.import_rows import ImportRows
from session_memory.memory.live_imports import import_all
from session_memory.store import Store
from session_memory.testing.collecting import check_sound, events_of, usage_of

from .generated_homes import write_mycode_home, write_power_loop_database

power_loop_store = late_or_skip(
    "power_loop.runtime.session_store", "power-loop is not installed: run tools/setup dev"
)

# More of them with more effort. An import of fewer is done before the last kill.
MYCODE, POWER_LOOP = max(12, times(12)), max(8, times(8))


class Homes:
    def __init__(self, directory: Path) -> None:
        self.home, self.database = directory / "home", directory / "loops.db"
        self.mycode = write_mycode_home(self.home, MYCODE)
        self.power_loop = write_power_loop_database(self.database, POWER_LOOP)

    def time_of(self, name: str, field: str) -> datetime:
        meta = self.home / ".mycode" / "sessions" / name / "meta.json"
        return datetime.fromisoformat(json.loads(meta.read_text())[field])

    def updated(self, name: str) -> datetime:
        return self.time_of(name, "updated_at")

    @property
    def places(self) -> tuple[Path, Path]:
        return self.home / ".mycode", self.database


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return Homes(tmp_path_factory.mktemp("homes"))


@pytest.fixture(scope="module")
def expected(homes: Homes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is known of the sessions if only their own runtimes' data is collected."""
    with Memory(tmp_path_factory.mktemp("alone") / "memory.db", Config()) as memory:
        memory.sync(homes.places, flavors=("mycode", "power_loop"))
        return known(memory)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", Config()) as memory:
        yield memory


def known(memory: Memory) -> dict[str, Any]:
    """Sessions, events, tokens, money, statistics and patterns."""
    memory.analyze()
    store = memory.store
    uids = sorted(store.sessions.uids())
    return {
        "sessions": [_session(store, uid) for uid in uids],
        "events": {uid: [e.to_dict() for e in events_of(store, uid)] for uid in uids},
        "usage": {uid: usage_of(store, uid) for uid in uids},
        **figures(memory),
    }


def figures(memory: Memory) -> dict[str, Any]:
    stats = memory.stats().to_dict()
    return {
        "cost": memory.cost("model").to_dict(),
        "stats": {name: stats[name] for name in stats if name not in ("made_at", "seconds")},
        "patterns": [pattern.to_dict() for pattern in memory.patterns().patterns],
        "hits": memory.search("glaze", limit=0).total,
    }


def _session(store: Store, uid: str) -> dict[str, Any]:
    session = store.sessions.get(uid)
    assert session is not None
    about = session.to_dict()
    clocks = ("discovered_at", "ingested_at", "analyzed_at", "revision", "analyzed_revision")
    return {name: value for name, value in about.items() if name not in clocks}


def test_everything_is_counted_as_before_and_again_is_a_no_op(
    homes: Homes, expected: dict[str, Any], memory: Memory
) -> None:
    first = import_all(memory.store, Config(), homes.places)
    assert (first.new, first.failed) == (MYCODE + POWER_LOOP, {})
    found = known(memory)
    assert found["patterns"] and found == expected
    check_sound(memory.store)
    before = memory.store.fingerprint()
    again = memory.import_live(homes.places)
    assert (again.unchanged, again.new, again.messages) == (MYCODE + POWER_LOOP, 0, 0)
    assert memory.store.fingerprint() == before


def test_the_statistics_are_the_same_from_the_live_sessions_alone(
    homes: Homes, expected: dict[str, Any], memory: Memory, tmp_path: Path
) -> None:
    """The data of the other runtimes is gone, and was never collected into this store."""
    with Memory(tmp_path / "other.db", Config()) as other:
        other.sync(homes.places, flavors=("mycode", "power_loop"))
        live = SessionStore(memory.store.db)
        for history in collected_histories(other.store, other.store.sessions.uids()):
            assert isinstance(history, History)
            import_history(live, history)
    sync(memory.store, Config(), [])
    memory.analyze()
    check_sound(memory.store)
    found = figures(memory)
    assert _learned(found) == _learned(expected)
    assert (found["cost"], found["hits"]) == (expected["cost"], expected["hits"])
    # A fold is one event; power-loop writes its note and the compaction. Messages without a time
    # have one here.
    summary, before = found["stats"]["summary"], expected["stats"]["summary"]
    assert {**summary, "events": 0, "undated": 0} == {**before, "events": 0, "undated": 0}


def _learned(found: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The patterns without their tokens: power-loop does not say which answer a usage is of."""
    names = ("type", "locus", "detail", "signals", "sessions", "magnitude", "flavors", "repos")
    return {one["id"]: tuple(one[name] for name in names) for one in found["patterns"]}


# SWITCHING 2.77
def test_sessions_of_mycode_are_loaded_as_they_were(homes: Homes, memory: Memory) -> None:
    import_all(memory.store, Config(), homes.places)
    store = mycode.SessionStore(place=memory.place)
    listed = {row["id"]: row for row in asyncio.run(store.list_sessions())}
    newest = [name for name in listed if name in homes.mycode]
    assert newest == sorted(homes.mycode, key=homes.updated, reverse=True)
    for name in homes.mycode:
        directory = homes.home / ".mycode" / "sessions" / name
        meta = json.loads((directory / "meta.json").read_text())
        for field in ("cwd", "provider", "model", "api_base"):
            assert listed[name][field] == meta.get(field, listed[name][field])
        for field in ("created_at", "updated_at"):
            assert datetime.fromisoformat(listed[name][field]) == homes.time_of(name, field)
        if meta["title"] != "New chat":
            assert listed[name]["title"] == meta["title"]
        lines = (directory / "messages.jsonl").read_text().splitlines()
        written = [json.loads(line) for line in lines if line != "{torn"]
        roles = {line["role"] for line in written}
        if not roles & {"compact", "rewind"}:
            loaded = store.load_session_sync(name)
            assert loaded is not None and loaded["messages"] == written
    store.close()


# SWITCHING 3.97, 3.98, 3.99
def test_sessions_of_power_loop_have_equal_rows(homes: Homes, memory: Memory) -> None:
    import_all(memory.store, Config(), homes.places)
    theirs = power_loop_store.SessionStore.open(str(homes.database))
    ours = SessionStore(memory.store.db)
    statuses, lifecycles = set(), set()
    for name in homes.power_loop:
        session, before = ours.get_session(name), asdict(theirs.get_session(name))
        assert session is not None
        row = asdict(session)
        row["metadata"].pop("imported_from")
        assert {field: row[field] for field in before} == before
        assert row["cwd"] == before["metadata"]["cwd"]
        statuses.add(before["status"])
        lifecycles.add(before["lifecycle"])
        assert _rows(ours.load_all_messages(name)) == _rows(theirs.load_all_messages(name))
        assert _rows(ours.list_compactions(name)) == _rows(theirs.list_compactions(name))
        assert ours.get_state(name).round_index == theirs.get_state(name).round_index
        assert ours.list_children(name) or not theirs.list_children(name)
        totals = ours.usage_totals(name)
        number = homes.power_loop.index(name)
        assert (totals["llm_calls"], totals["prompt_tokens"]) == (2, 2 * (500 + number))
    theirs.close()
    assert (len(statuses), len(lifecycles)) == (2, 3)


def _rows(rows: list[Any]) -> list[dict[str, Any]]:
    """Rows without the fields that only ours have."""
    added = ("stands_after", "members", "is_undone")
    return [{n: v for n, v in asdict(row).items() if n not in added} for row in rows]


@pytest.fixture(scope="module")
def undisturbed(homes: Homes, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fingerprint of a store into which everything was imported at once, and analyzed."""
    with Memory(tmp_path_factory.mktemp("undisturbed") / "memory.db", Config()) as memory:
        import_all(memory.store, Config(), homes.places)
        memory.analyze()
        return memory.store.fingerprint()


@pytest.mark.parametrize("at", (1, 17))
def test_an_import_that_was_killed_completes_when_it_runs_again(
    homes: Homes,
    expected: dict[str, Any],
    undisturbed: str,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    class Killed(BaseException):
        pass

    done = 0

    def dying(self: ImportRows, *args: Any, **named: Any) -> None:
        nonlocal done
        done += 1
        if done == at:
            raise Killed
        return add(self, *args, **named)

    add = ImportRows.add
    monkeypatch.setattr(ImportRows, "add", dying)
    with pytest.raises(Killed):
        import_all(memory.store, Config(), homes.places)
    monkeypatch.undo()
    again = import_all(memory.store, Config(), homes.places)
    assert (again.new, again.unchanged) == (MYCODE + POWER_LOOP - at + 1, at - 1)
    assert known(memory) == expected
    assert memory.store.fingerprint() == undisturbed
