"""A store outlives its adapters: one that is gone, broken or older costs its own sessions at most.

The toy's log is collected beside one of Claude Code. Then the toy's adapter is taken away, in all
ways an adapter can be, and every command is asked again.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import toy
from on_a_server import cases
from toy_home import CLAUDE, READING, SECRET_WORD, TOY, json_of, run, write_home

from session_memory.adapters.agent import Agent
from session_memory.adapters.claude import AGENT as claude
from session_memory.core.time import now_ms
from session_memory.derive.rebuilding import rebuild
from session_memory.retain.verification import verify
from session_memory.store import Store, open_store
from session_memory.testing.agents import installed
from session_memory.testing.collecting import collect, contents, new_store
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


def raising(*arguments: Any) -> Any:
    raise RuntimeError("the toy is broken")


def raising_late(*arguments: Any) -> Iterator[Any]:
    yield from toy.read(*arguments)
    raise RuntimeError("the toy is broken")


def broken_in(**functions: Any) -> Agent:
    return msgspec.structs.replace(toy.AGENT, **functions)


OLDER = msgspec.structs.replace(toy.AGENT, version=1)
NEWER = msgspec.structs.replace(toy.AGENT, version=2)
# What may have happened to the toy's adapter since its log was collected.
FATES: dict[str, tuple[tuple[Agent, ...], dict[str, Exception]]] = {
    "uninstalled": ((), {}),
    "not importable": ((), {"toy": ImportError("no module named toys")}),
    "older": ((OLDER,), {}),
    "raising in read": ((msgspec.structs.replace(NEWER, read=raising),), {}),
    "raising late in read": ((msgspec.structs.replace(NEWER, read=raising_late),), {}),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which Claude Code and the toy have worked."""
    place = tmp_path / "home"
    write_home(place)
    monkeypatch.setenv("HOME", str(place))
    return place


# On a server one that is missing, and one whose failure rolls a transaction back.
ON_A_SERVER = ("raising late in read", "uninstalled")


@pytest.fixture(params=cases(sorted(FATES), ON_A_SERVER))
def fate(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def without_toy(fate: str) -> Iterator[None]:
    agents, broken = FATES[fate]
    with installed(claude, *agents, broken=broken):
        yield


@pytest.fixture
def place(home: Path, stores: Stores) -> str:
    """A store with both sessions, collected while the toy's adapter worked."""
    where = stores.place("memory")
    with installed(claude, NEWER):
        assert run(where, "sync").exit_code == 0
    with open_store(where) as store:
        assert sorted(store.sessions.uids()) == [CLAUDE, TOY]
    return where


# ---------------------------------------------------------------- reading


def test_every_command_works_without_the_adapter(place: str, without_toy: None) -> None:
    failed = {}
    for words in READING:
        done = run(place, *words)
        if done.exit_code not in (0, 3):
            failed[words] = (done.exit_code, done.output, done.exception)
    assert failed == {}


def test_a_session_is_shown_with_its_texts_and_the_lack_is_said(
    place: str, without_toy: None
) -> None:
    done = run(place, "show", TOY)
    assert SECRET_WORD in done.stdout
    assert "Records of toy were read without its adapter" in done.stderr
    events = json_of(place, "show", TOY, "--full")["events"]
    assert [event["kind"] for event in events] == [
        "user_msg",
        "tool_call",
        "tool_result",
        "assistant_msg",
    ]
    whole = run(place, "show", CLAUDE)
    assert "adapter" not in whole.stderr


def test_search_finds_its_words_before_and_after_the_index_is_made_again(
    place: str, without_toy: None
) -> None:
    assert [hit["session_uid"] for hit in json_of(place, "search", SECRET_WORD)["hits"]] == [TOY]
    json_of(place, "reindex")
    assert [hit["session_uid"] for hit in json_of(place, "search", SECRET_WORD)["hits"]] == [TOY]


# ---------------------------------------------------------------- deriving


def test_a_rebuild_leaves_its_events_as_they_are_and_names_it(place: str, fate: str) -> None:
    with installed(claude, NEWER), open_store(place) as store:
        before = contents(store)
    agents, broken = FATES[fate]
    with installed(claude, *agents, broken=broken):
        report = json_of(place, "rebuild")
        assert list(report["skipped"]) == ["toy"]
        assert report["sources"] == 1
        done = run(place, "rebuild")
        assert done.exit_code == 3
        assert "Sessions of toy were left as they are" in done.stderr
        hits = json_of(place, "search", SECRET_WORD)["hits"]
        assert [hit["session_uid"] for hit in hits] == [TOY]
    with installed(claude, NEWER), open_store(place) as store:
        assert contents(store) == before
        assert rebuild(store, now_ms(), lambda repo, cwd: None, lambda row: None).skipped == {}
        assert contents(store) == before
        assert verify(store).findings == []


def test_verify_checks_everything_else_and_names_it(place: str, without_toy: None) -> None:
    found = json_of(place, "verify")
    assert found["ok"] and found["sessions"] == 1
    assert list(found["skipped"]) == ["toy"]
    assert "Sessions of toy were left as they are" in run(place, "verify").stderr


def test_a_stale_session_waits_for_its_adapter(place: str, fate: str) -> None:
    agents, broken = FATES[fate]
    with open_store(place) as store:
        row = store.sessions.row(TOY)
        assert row is not None
        store.sessions.mark_stale(row.id)
    with installed(claude, *agents, broken=broken):
        assert run(place, "sync").exit_code in (0, 3)
        assert json_of(place, "verify")["ok"]
        with open_store(place) as store:
            assert store.sessions.stale() == [row.id]
            assert store.events.count() > 4
    with installed(claude, NEWER):
        assert run(place, "sync").exit_code == 0
        with open_store(place) as store:
            assert store.sessions.stale() == []


# ---------------------------------------------------------------- collecting


def test_what_other_agents_wrote_is_collected(place: str, home: Path, without_toy: None) -> None:
    (log,) = (home / ".claude" / "projects").rglob("main.jsonl")
    shutil.copy(log, log.with_name("copied.jsonl"))
    log.with_name("copied.jsonl").write_bytes(log.read_bytes().replace(b'"main"', b'"copied"'))
    report = json_of(place, "sync")
    assert report["ingested"] >= 1
    assert "claude:copied" in json.dumps(json_of(place, "sessions"))


@pytest.mark.only("sqlite")
def test_a_plugin_that_cannot_be_imported_is_a_remark_of_sync_and_a_check_of_doctor(
    place: str,
) -> None:
    with installed(claude, broken={"toy": ImportError("no module named toys")}):
        done = run(place, "sync")
        assert done.exit_code == 0
        reason = "the adapter of toy failed: ImportError: no module named toys"
        assert reason in done.stderr
        checks = {check["name"]: check for check in json_of(place, "doctor")["checks"]}
        assert checks["toy adapter"]["status"] == "warn"
        assert checks["toy adapter"]["text"] == reason


@pytest.mark.only("sqlite")
def test_doctor_names_sessions_without_an_adapter(place: str) -> None:
    with installed(claude):
        checks = {check["name"]: check for check in json_of(place, "doctor")["checks"]}
    text = "sessions of toy are in the store: no adapter is installed for it"
    assert checks["toy adapter"]["text"] == text


@pytest.mark.parametrize(
    "function", cases(("roots", "discover", "read", "recognizes", "keeps_days"), ("read",))
)
def test_an_exception_costs_no_other_agent(home: Path, function: str, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, broken_in(**{function: raising})):
        done = run(where, "sync")
        assert done.exit_code in (0, 3), (done.output, done.exception)
        assert "claude:main" in json.dumps(json_of(where, "sessions"))
        assert run(where, "doctor").exit_code in (0, 3)
    with installed(claude, toy.AGENT):
        assert run(where, "sync").exit_code == 0
        assert {"claude:main", TOY} <= {
            session["session_uid"] for session in json_of(where, "sessions")["sessions"]
        }
        assert json_of(where, "problems")["problems"] == []


@pytest.mark.parametrize("function", cases(("discover", "read"), ("read",)))
def test_an_exception_is_a_problem_that_names_adapter_file_and_exception(
    home: Path, function: str, stores: Stores
) -> None:
    where = stores.place("memory")
    with installed(claude, broken_in(**{function: raising})):
        report = json_of(where, "sync")
        assert (report["failed"], report["ingested"]) == (1, 1)
        (problem,) = json_of(where, "problems")["problems"]
    expected = home / ".toy" / ("one.toy" if function == "read" else "*")
    assert problem["path"] == str(expected)
    assert problem["reason"] == "unreadable"
    where = " in discover" if function == "discover" else ""
    named = str(expected.parent if function == "discover" else expected)
    assert problem["detail"] == (
        f"the adapter of toy failed{where} on {named!r}: RuntimeError: the toy is broken"
    )


def test_an_older_adapter_does_not_go_on_where_a_newer_one_left_off(place: str, home: Path) -> None:
    log = home / ".toy" / "one.toy"
    log.write_bytes(log.read_bytes() + log.read_bytes().splitlines(keepends=True)[0])
    with installed(claude, OLDER):
        report = json_of(place, "sync")
        assert report["failed"] == 1
        (problem,) = json_of(place, "problems")["problems"]
        assert "version 1 of its adapter is installed, version 2" in problem["detail"]
    with installed(claude, NEWER):
        assert run(place, "sync").exit_code == 0
        assert json_of(place, "problems")["problems"] == []


# ---------------------------------------------------------------- keeping


def test_an_export_travels_without_the_adapter(
    place: str, without_toy: None, tmp_path: Path, stores: Stores, fate: str
) -> None:
    file, other = str(tmp_path / "all.smx"), stores.place("other")
    assert run(place, "export", file).exit_code == 0
    done = run(other, "import", file)
    assert done.exit_code in (0, 3), (done.output, done.exception)
    with open_store(other) as store:
        assert CLAUDE in store.sessions.uids()
    with installed(claude, NEWER):
        json_of(other, "rebuild")
        with open_store(other) as store, open_store(place) as origin:
            assert contents(store) == contents(origin)


def test_a_session_can_be_forgotten_without_its_adapter(place: str, without_toy: None) -> None:
    done = run(place, "forget", TOY, "--yes")
    assert done.exit_code == 0, (done.output, done.exception)
    with open_store(place) as store:
        assert store.sessions.uids() == [CLAUDE]


@pytest.mark.only("sqlite")
def test_nothing_is_said_where_nothing_is_missing(place: str) -> None:
    with installed(claude, NEWER):
        for words in (("show", TOY), ("verify",), ("rebuild",), ("sync",)):
            done = run(place, *words)
            assert done.exit_code == 0
            assert "adapter" not in done.stderr


@pytest.mark.only("sqlite")
def test_a_store_in_memory_is_no_exception(home: Path) -> None:
    with installed(claude, NEWER):
        store: Store = new_store()
        collect(store, home)
    with store, installed(claude):
        assert verify(store).skipped == {"toy": "no adapter is installed for it"}
