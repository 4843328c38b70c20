"""Live sessions in portable files and below the directory of `restore-native`."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.collect.live_sessions import LiveSync
from session_memory.config import Config
from session_memory.core.errors import UnsafePath
from session_memory.live import SessionStore
from session_memory.live.rows import SubagentLifecycle
from session_memory.retain.forget import allow_again, forget
from session_memory.retain.native_files import restore_native
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import StoreImport, import_store
from session_memory.retain.verification import verify
from session_memory.store import Store
from session_memory.store.live_bundle import dump, load
from session_memory.testing.stores import Stores

KEY = "sk-ant-api03-" + "q7Kd92LmZx" * 9 + "AA"


def told(live: SessionStore) -> None:
    """Sessions with everything that a live session can have."""
    live.create_session(
        session_id="top", model="m", cwd="/src", system_prompt="Be\0brief.", metadata={"a": [1]}
    )
    for number in range(6):
        live.append_message(
            "top", role="user", content=f"prompt {number} \ud83d é", key=str(number)
        )
        live.append_message("top", role="assistant", content=[{"type": "text", "text": "yes"}])
    live.append_message("top", role="assistant", content="long " * 40_000)
    live.record_usage("top", round_index=1, usage={"prompt_tokens": 7, "completion_tokens": 2})
    live.record_compaction("top", from_seq=1, to_seq=4, note_content="a note")
    live.rewind("top", 8)
    live.append_message("top", role="assistant", tool_calls=[{"id": "c1", "function": {}}])
    live.repair("top")
    live.fork_session("top", new_id="fork")
    live.append_message("fork", role="user", content="another way")
    live.fork_session("fork", new_id="second")
    live.rewind("second", 6)
    live.append_message("second", role="user", content="a third way")
    for life in SubagentLifecycle:
        child = live.create_session(
            session_id=life.value, parent_session_id="top", lifecycle=life, spawn_tool_call_id="c"
        )
        live.append_message(child, role="user", content=f"look ({life.value})")
    live.finish_subagent("ephemeral")
    live.archive_session("linked")


def copied(store: Store, other: Store, file: Path, **how: Any) -> StoreImport:
    export_store(store, file, **how)
    return import_store(other, file, Config())


def rows_in(store: Store) -> list[bytes]:
    names = [row[0] for row in store.db.all("select session_id from live_sessions order by 1")]
    return [line for name in names for line in dump(store.db, name)]


def test_an_import_has_the_same_live_sessions(stores: Stores, tmp_path: Path) -> None:
    with stores.new() as store, stores.new() as other:
        live = SessionStore(store.db)
        told(live)
        live.acquire_lease("fork", owner="worker")
        done = copied(store, other, tmp_path / "all.smx")
        assert (done.problems, done.sources, done.sessions) == ([], 6, 6)
        live.release_lease(live.acquire_lease("fork", owner="worker"))
        theirs = SessionStore(other.db)
        for session in ("top", "fork", "second", "ephemeral", "linked", "detached"):
            for read in ("load_all_messages", "load_active_messages", "list_compactions"):
                assert getattr(theirs, read)(session) == getattr(live, read)(session)
            assert theirs.usage_totals(session) == live.usage_totals(session)
            known = live.get_session(session, with_closed=True)
            assert theirs.get_session(session, with_closed=True) == known
        assert verify(other).findings == []
        # They go on: nobody has a lease there, keys still count, undo works.
        theirs.append_message("fork", role="user", content="and on")
        head = theirs.head("top")
        theirs.append_message("top", role="user", content="prompt 0", key="0")
        assert theirs.head("top") == head
        theirs.undo_compaction("top")
        theirs.reopen_session("ephemeral")


def test_a_second_import_changes_nothing(stores: Stores, tmp_path: Path) -> None:
    with stores.new() as store, stores.new() as other:
        told(SessionStore(store.db))
        copied(store, other, tmp_path / "all.smx")
        before, rows = other.fingerprint(), rows_in(other)
        assert import_store(other, tmp_path / "all.smx", Config()).known == 6
        assert (other.fingerprint(), rows_in(other)) == (before, rows)
        # What went on here is not overruled.
        SessionStore(other.db).append_message("fork", role="user", content="here")
        assert import_store(other, tmp_path / "all.smx", Config()).known == 6
        SessionStore(store.db).append_message("second", role="user", content="there")
        again = copied(store, other, tmp_path / "again.smx")
        assert (again.known, again.refused) == (5, 1)
        assert "another session with this id" in again.problems[0]


def test_an_import_of_a_fork_has_its_origins(stores: Stores, tmp_path: Path) -> None:
    with stores.new() as store, stores.new() as other, stores.new() as scratch:
        told(SessionStore(store.db))
        copied(store, scratch, tmp_path / "all.smx")
        done = copied(scratch, other, tmp_path / "one.smx", uids=["live:second"])
        assert done.problems == []
        names = {row[0] for row in other.db.all("select session_id from live_sessions")}
        assert names >= {"fork", "second", "top"}
        one, two = SessionStore(other.db), SessionStore(store.db)
        assert one.load_active_messages("second") == two.load_active_messages("second")


@pytest.mark.only("sqlite")
def test_secrets_are_masked_in_a_redacted_export(stores: Stores, tmp_path: Path) -> None:
    with stores.new() as store, stores.new() as other:
        live = SessionStore(store.db)
        live.create_session(session_id="one", system_prompt=f"use {KEY}")
        live.append_message("one", role="user", content=f"the key is {KEY}")
        live.append_message("one", role="user", content=[{"type": "text", "text": f'"{KEY}"'}])
        live.append_message("one", role="assistant", content=f"{KEY} and more. " * 400)
        done = copied(store, other, tmp_path / "all.smx", redacted=True)
        assert done.problems == []
        theirs = SessionStore(other.db)
        texts = json.dumps([str(m.content) for m in theirs.load_all_messages("one")])
        assert KEY not in texts and "the key is" in texts and "and more." in texts
        row = theirs.get_session("one")
        assert row is not None and KEY not in str(row.system_prompt)


@pytest.mark.only("sqlite")
def test_a_forgotten_live_session_is_not_imported(stores: Stores, tmp_path: Path) -> None:
    with stores.new() as store:
        told(SessionStore(store.db))
        export_store(store, tmp_path / "all.smx")
        done = forget(store, Config(), ["live:linked"], 1)
        assert done.proof.samples and not done.proof.found
        assert import_store(store, tmp_path / "all.smx", Config()).known == 6
        assert SessionStore(store.db).get_session("linked") is None
        assert allow_again(store, "live:linked")
        assert import_store(store, tmp_path / "all.smx", Config()).known == 5
        assert SessionStore(store.db).get_session("linked") is not None


def test_rows_are_written_below_a_directory_and_can_be_loaded(
    stores: Stores, tmp_path: Path
) -> None:
    with stores.new() as store, stores.new() as other:
        told(SessionStore(store.db))
        written = restore_native(store, None, tmp_path)
        assert {file.path.name for file in written} == {
            *("top.jsonl", "fork.jsonl", "second.jsonl", "ephemeral.jsonl"),
            *("linked.jsonl", "detached.jsonl"),
        }
        assert all(file.path.stat().st_size == file.bytes for file in written)
        for name in ("top", "fork", "second", "ephemeral", "linked", "detached"):
            with other.transaction(), (tmp_path / f"live/{name}.jsonl").open("rb") as lines:
                assert load(other.db, lines) == name
        assert rows_in(other) == rows_in(store)
        collect_live(store)
        with pytest.raises(UnsafePath, match="has no log of its own"):
            restore_native(store, ["live:top"])


def collect_live(store: Store) -> None:
    sync = LiveSync(store, 1, lambda repo, cwd: None)
    sync.read(sync.changed())


WRONG = {
    "no lines": [],
    "no session": [b'{"format": "session-memory-live", "version": 1}'],
    "version": [("version", 2)],
    "status": [("status", "asleep")],
    "kind": [("kind", 7)],
    "next_seq": [("next_seq", 10**30)],
    "head": [("head", 77)],
    "lane": [("lane_id", ["one", 2])],
    "lane of others": [("lane_id", ["top", 1])],
    "created_at": [("created_at", "yesterday")],
    "the end of time": [("created_at", 2**63 - 1)],
    "before time": [("updated_at", -1)],
    "the last fence": [("fence", 2**63 - 1)],
    "the last revision": [("revision", 2**62)],
    "session_id": [("session_id", "../one")],
    "another": [("session_id", "two")],
    "config": [("config", "{")],
    "metadata": [("metadata", "[1]")],
    "base": [("base_lane", ["top", 1])],
    "role": [("role", None)],
    "seq": [("seq", 5)],
    "body": [("body", "abcd")],
    "calls": [("tool_calls", "{")],
    "table": [("table", "sessions")],
}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("name", WRONG)
def test_lines_from_outside_are_checked_before_anything_is_stored(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with stores.new() as store, stores.new() as other:
        live = SessionStore(store.db)
        live.append_message(live.create_session(session_id="good"), role="user", content="hello")
        live.append_message(live.create_session(session_id="one"), role="user", content="hello")

        def wrong(db: Any, native: str) -> list[bytes]:
            lines = list(dump(db, native))
            return lines if native == "good" else _changed(lines, WRONG[name])

        monkeypatch.setattr("session_memory.retain.live_files.dump", wrong)
        export_store(store, tmp_path / "all.smx")
        monkeypatch.undo()
        done = import_store(other, tmp_path / "all.smx", Config())
        assert (done.sources, done.refused, done.sessions) == (2, 1, 1)
        assert done.problems[0].startswith("live:one/rows: ")
        assert other.sessions.uids() == ["live:good"]
        assert verify(other).findings == []


def _changed(lines: list[bytes], changes: list[Any]) -> list[bytes]:
    if not changes or isinstance(changes[0], bytes):
        return [line + b"\n" for line in changes]
    (name, value), rows = changes[0], [json.loads(line) for line in lines]
    for row in rows:
        for place in (row.get("session", {}), row):
            is_message = name in ("body", "tool_calls") and "seq" in place
            is_lane = name == "base_lane" and place.get("table") == "live_lanes"
            if name in place or is_message or is_lane:
                place[name] = value
    return [json.dumps(row).encode() + b"\n" for row in rows]
