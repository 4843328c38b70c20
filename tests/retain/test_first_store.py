"""The store of the first collector can be imported. SWITCHING 0.109."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.config import Config
from session_memory.core.errors import SessionMemoryError
from session_memory.core.schema import Session
from session_memory.learn.analyze import analyze
from session_memory.learn.digests import digest_of
from session_memory.retain import first_store as first_store_module
from session_memory.retain.forget import forget
from session_memory.retain.native_files import restore_native
from session_memory.retain.portable_import import StoreImport, import_store
from session_memory.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.collecting import (
    check_sound,
    collect,
    contents,
    events_of,
    new_store,
    rebuilt,
)

BOTH = pytest.mark.only("sqlite", "postgresql")
pytestmark = pytest.mark.only("sqlite")
UID = "claude:0a1b"


def session(**fields: Any) -> dict[str, Any]:
    """A session as version 1 wrote it: only the fields that it had."""
    return {
        "session_uid": UID,
        "flavor": "claude",
        "native_session_id": "0a1b",
        "repo": "shop",
        "domain": None,
        "cwd": "/home/mira/shop",
        "git_branch": "main",
        "model": "claude-sonnet-4-5",
        "outcome": "success",
        "task_ref": "#12",
        "started_at": "2025-03-01T10:00:00Z",
        "ended_at": "2025-03-01T10:05:00Z",
        "cost": {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_tokens": 3000,
            "wall_clock_s": 300.0,
            "turns": 1,
            "retries": 0,
        },
        "source_path": "/gone.jsonl",
        "source_bytes": 9,
        "schema_version": 1,
        "discovered_at": None,
        "ingested_at": None,
        "analyzed_at": None,
        "evicted_at": None,
        **fields,
    }


def event(seq: int, kind: str, summary: str | None, **fields: Any) -> dict[str, Any]:
    return {
        "session_uid": UID,
        "seq": seq,
        "ts": f"2025-03-01T10:0{seq}:00Z",
        "kind": kind,
        "parent_seq": seq - 1 if seq else None,
        "role": None,
        "tool": None,
        "summary": summary,
        "payload_ref": None,
        "tokens": 0,
        "is_sidechain": False,
        **fields,
    }


EVENTS = [
    event(0, "user_msg", "make the tests pass", role="user"),
    event(1, "test_run", "pytest -q", tool="Bash", payload_ref="blobs/ab12"),
    event(2, "error", "1 failed", tool="Bash", role="tool", payload_ref="sha256:cd34"),
    event(3, "edit", "cart.py", tool="Edit", payload_ref="blobs/ef56.json.gz"),
    event(4, "tool_result", "ok", tool="Edit"),
    event(5, "assistant_msg", None, role="assistant", payload_ref="blobs/gone"),
]


def first_store(root: Path, *events: dict[str, Any], **fields: Any) -> Path:
    """A store with a file for each session, a file of events, and one file for each body."""
    for folder in ("sessions", "events", "blobs", "digests"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "sessions" / "one.json").write_text(json.dumps(session(**fields)))
    lines = "\n".join(json.dumps(one) for one in (*EVENTS, *events))
    (root / "events" / "one.jsonl").write_text(lines)
    (root / "blobs" / "ab12").write_text(json.dumps({"command": "pytest -q tests/cart"}))
    (root / "blobs" / "cd34").write_text("E  AssertionError: 3 != 4\n1 failed in 0.1s")
    packed = gzip.compress(json.dumps({"file_path": "cart.py", "new_string": "four"}).encode())
    (root / "blobs" / "ef56.json.gz").write_bytes(packed)
    digest = {"session_uid": UID, "outcome": "success", "markers": {"error": 1}}
    (root / "digests" / "one.json").write_text(json.dumps(digest))
    (root / "catalog.json").write_text(json.dumps({"patterns": [{"id": "p1"}]}))
    return root


def imported(store: Store, path: Path) -> StoreImport:
    return import_store(store, path, Config(host="here"))


@BOTH
@pytest.mark.usefixtures("on_the_database")
def test_a_store_of_version_1_becomes_sessions(tmp_path: Path) -> None:
    with new_store() as store:
        done = imported(store, first_store(tmp_path))
        assert (done.sources, done.sessions, done.refused) == (1, 1, 0)
        assert done.left_out == ["catalog.json"]
        found = store.sessions.get(UID)
        assert found is not None
        old = Session.from_dict(session())
        for name in ("flavor", "repo", "cwd", "git_branch", "model", "started_at", "ended_at"):
            assert getattr(found, name) == getattr(old, name), name
        assert found.task_ref == "#12" and found.title == "make the tests pass"
        for name in ("input_tokens", "output_tokens", "cache_tokens", "turns"):
            assert getattr(found.cost, name) == getattr(old.cost, name), name
        events = events_of(store, UID)
        assert [one.kind for one in events[:6]] == [one["kind"] for one in EVENTS]
        assert events[1].call_id == events[2].call_id and events[3].call_id == events[4].call_id
        assert events[2].is_error and events[1].is_a("tool_call")
        check_sound(store)
        before = contents(store)
        assert imported(store, tmp_path).known == 1
        assert contents(store) == before == contents(rebuilt(store))


@BOTH
@pytest.mark.usefixtures("on_the_database")
def test_a_changed_session_replaces_the_one_that_was_imported(tmp_path: Path) -> None:
    with new_store() as store:
        imported(store, first_store(tmp_path / "old"))
        moved = first_store(tmp_path / "new", event(6, "user_msg", "thanks"), outcome="fail")
        done = imported(store, moved)
        assert (done.known, done.sessions, done.refused) == (0, 0, 0)
        kinds = [one.native_kind for one in events_of(store, UID)]
        assert kinds.count("schema-v1/digest") == 1 and kinds.count("schema-v1/user_msg") == 2
        assert kinds.count("schema-v1/session") == 2  # The outcome before, and the one after.
        check_sound(store)
        found = store.sessions.get(UID)
        assert found is not None and found.cost.input_tokens == 100
        assert found.cost.turns == 2


def test_what_is_imported_is_searched_and_learned_from(tmp_path: Path) -> None:
    with new_store() as store:
        imported(store, first_store(tmp_path))
        analyze(store)
        digest = digest_of(store, UID)
        assert digest is not None
        assert [one.passed for one in digest.tests] == [False] and digest.markers.edit == 1
        assert digest.error_snippets[0].sample.endswith("AssertionError: 3 != 4")


def test_sessions_with_logs_of_their_own_are_left_alone(tmp_path: Path, claude: ClaudeHome) -> None:
    claude.session("0a1b").prompt("hello")
    with new_store() as store:
        collect(store, claude.write())
        before = contents(store)
        done = imported(store, first_store(tmp_path))
        assert (done.known, done.sessions) == (1, 0) and contents(store) == before


@BOTH
@pytest.mark.usefixtures("on_the_database")
def test_records_give_way_to_a_log_that_comes_later(tmp_path: Path, claude: ClaudeHome) -> None:
    log = claude.session("0a1b")
    log.prompt("hello")
    log.answer("Hello.", used=usage(7))
    with new_store() as store:
        imported(store, first_store(tmp_path))
        collect(store, claude.write())
        for _ in range(2):
            found = store.sessions.get(UID)
            assert found is not None and found.cost.output_tokens == 7
            assert [one.summary for one in events_of(store, UID)] == ["hello", "Hello."]
            check_sound(store)
            rebuilt(store)


@pytest.mark.parametrize("name", ["one.jsonl", "one.json"])
def test_a_file_of_records_is_enough(tmp_path: Path, name: str) -> None:
    records = [session(), *EVENTS]
    text = "\n".join(map(json.dumps, records)) if name == "one.jsonl" else json.dumps(records)
    (tmp_path / name).write_text(text)
    with new_store() as store:
        assert imported(store, tmp_path / name).sessions == 1
        assert len(events_of(store, UID)) == len(EVENTS) + 1


def test_a_wrong_record_and_a_wrong_line_are_told_apart_from_sources(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    calls = [one for one in EVENTS if one["kind"] != "assistant_msg"]
    records = [session(model="claude-sonnet-4-5"), *calls, event(-1, "edit", "")]
    file.write_text("\n".join(map(json.dumps, records)) + "\nnot json\n")
    place = str(tmp_path / "memory.db")
    for new, known in ((1, 0), (0, 1)):
        done = CliRunner().invoke(main, ["import", str(file), "--store", place])
        assert f"{new} imported" in done.stdout and f"{known} already in the store" in done.stdout
        assert "2 records refused" in done.stdout.replace("\n", " ")
        assert "seq must be" in done.stderr and "not JSON" in done.stderr
        assert done.exit_code == 3
    with open_store(place) as store:
        found = store.sessions.get(UID)
    # No event of it has a model.
    assert found is not None and found.model == "claude-sonnet-4-5"


def test_rubbish_costs_itself(tmp_path: Path) -> None:
    root = first_store(tmp_path / "store")
    (tmp_path / "secret").write_text("outside")
    (root / "blobs" / "gone").symlink_to(tmp_path / "secret")
    (root / "sessions" / "bad.json").write_text(json.dumps(session(session_uid="claude:../x")))
    (root / "sessions" / "torn.json").write_text('{"session_uid": "claude:t')
    (root / "sessions" / "deep.json").write_text("[" * 100_000)
    lost = [{**event(0, "user_msg", "x"), "session_uid": "claude:lost"}, {"session_uid": 7}, None]
    (root / "events" / "bad.json").write_text(json.dumps([*lost, event(-1, "edit", "")]))
    (root / "blobs" / "cd34").write_bytes(b"\xff\x00 not text")
    with new_store() as store:
        done = imported(store, root)
        assert done.sessions == 1 and done.refused == 3 == len(done.problems)
        assert set(done.left_out) == {"catalog.json", "sessions/torn.json", "sessions/deep.json"}
        assert not any("outside" in text for text in contents(store))


def test_files_that_cannot_be_read_cost_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_store_module, "LARGEST_FILE", 5_000)
    monkeypatch.setattr(first_store_module, "LARGEST_PAYLOAD", 1_000)
    root = first_store(tmp_path)
    (root / "large.json").write_text(json.dumps(["x" * 6_000]))
    (root / "blobs" / "ef56.json.gz").write_bytes(gzip.compress(b"0" * 10**7)[:-9])
    (root / "blobs" / "ab12").write_bytes(b"no gzip")
    (root / "blobs" / "ab12").rename(root / "blobs" / "ab12.gz")
    with new_store() as store:
        done = imported(store, root)
        assert done.sessions == 1 and len(events_of(store, UID)) == len(EVENTS) + 2
        assert [one.split(":")[0] for one in done.problems] == [
            "large.json",
            "ab12.gz",
            "ef56.json.gz",
        ]


def test_a_session_of_version_1_is_written_back_and_forgotten(tmp_path: Path) -> None:
    with new_store() as store:
        imported(store, first_store(tmp_path / "v1"))
        (written,) = restore_native(store, [UID], tmp_path / "out")
        lines = [json.loads(line) for line in written.path.read_text().splitlines()]
        assert lines[-1]["record"] == session() and lines[0]["record"] == EVENTS[0]
        forget(store, Config(), [UID], 5)
        assert imported(store, tmp_path / "v1").sessions == 0
        assert store.sessions.get(UID) is None


def test_the_command_says_what_it_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    words = ["import", str(first_store(tmp_path / "v1")), "--store", str(tmp_path / "memory.db")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "1 imported" in result.stdout and "catalog.json" in result.stderr
    again = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    assert again["known"] == 1 and again["sessions"] == 0
    with pytest.raises(SessionMemoryError, match="no session of schema version 1"):
        (tmp_path / "empty").mkdir()
        with new_store() as store:
            imported(store, tmp_path / "empty")
