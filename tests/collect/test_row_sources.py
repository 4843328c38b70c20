"""A database as a source: changed rows are read again, nothing is lost or counted twice."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from opencode_home import OpencodeHome, text, tool

from session_memory.adapters.base import Cursor, SourceRef, Unlisted
from session_memory.adapters.opencode import AGENT
from session_memory.adapters.opencode.source import read, rows
from session_memory.collect.discover import roots
from session_memory.collect.sync import sync, sync_paths
from session_memory.config import Config
from session_memory.core.schema import SessionEvent
from session_memory.core.time import now_ms
from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.testing.adapters import BytesSource
from session_memory.testing.collecting import (
    HOST,
    check_sound,
    collect,
    collected,
    events_of,
    every_usage,
    new_store,
    rebuilt,
)

pytestmark = pytest.mark.only("sqlite")

UID = "opencode:ses_a"


def told(events: list[SessionEvent]) -> list[tuple[Any, ...]]:
    """What events say, whatever their numbers are."""
    return sorted((e.kind, e.summary, e.call_id, e.is_error, e.tool or "") for e in events)


def of(store: Store, uid: str = UID) -> list[tuple[Any, ...]]:
    return told(events_of(store, uid))


def tokens(store: Store) -> list[tuple[str, int]]:
    return sorted((usage.usage_id, usage.input_tokens) for usage in every_usage(store))


def only_source(home: Path) -> SourceRef:
    [ref] = AGENT.discover(home)
    assert isinstance(ref, SourceRef)
    return ref


def lines_after(ref: SourceRef, stored: bytes) -> bytes:
    """The lines that follow stored ones."""
    seen = [Cursor(), *(cursor for cursor, _ in read(BytesSource(ref, stored), Cursor()))]
    return b"".join(rows(ref, seen[-1]))


def a_long_session(made: OpencodeHome) -> list[Any]:
    """The writes of a session, one by one."""
    session = made.session()
    state: dict[str, str] = {}

    def begin_call() -> None:
        state["answer"] = made.answer(session, text("I look."), done=False)
        state["call"] = made.part(state["answer"], tool("c1", "ls", "running"))

    def end_call() -> None:
        made.change("part", state["call"], tool("c1", "ls", output="a.py", metadata={"exit": 0}))

    def change_prompt() -> None:
        info = made.data("message", state["prompt"])
        made.change("message", state["prompt"], {**info, "summary": {"diffs": [made.now]}})

    def finish() -> None:
        made.finish(state["answer"], tokens={"input": 7, "output": 3}, finish="tool-calls")

    return [
        lambda: state.update(prompt=made.prompt(session, "list the files")),
        begin_call,
        change_prompt,
        lambda: made.change("part", state["call"], tool("c1", "ls", "running", title="x")),
        end_call,
        finish,
        change_prompt,
        lambda: made.answer(session, text("There is a.py.")),
        change_prompt,
        lambda: made.prompt(session, "thanks"),
        lambda: made.answer(session, text("You are welcome."), used=11),
    ]


@pytest.mark.parametrize(("step", "age"), [(10, 0), (60_000, 0), (1000, 10**9)])
def test_a_session_that_is_read_after_each_write_is_the_same_as_one_that_is_read_once(
    tmp_path: Path, step: int, age: int
) -> None:
    made = OpencodeHome(tmp_path)
    made.step, made.now = step, now_ms() - age
    with new_store() as growing:
        for write in a_long_session(made):
            write()
            collect(growing, tmp_path)
        collect(growing, tmp_path)
        check_sound(growing)
        assert growing.problems.count() == 0
        with collected(tmp_path) as once:
            assert of(growing) == of(once)
            assert tokens(growing) == tokens(once)
            titles = [[s.title for s in store.sessions.every()] for store in (growing, once)]
            assert titles[0] == titles[1]
        before = growing.fingerprint()
        assert rebuilt(growing).fingerprint() == before
    made.close()


def test_a_call_is_seen_while_it_runs_and_its_result_when_it_ends(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    writes = a_long_session(made)
    with new_store() as store:
        for write in writes[:2]:
            write()
        collect(store, tmp_path)
        assert [e.call_id for e in events_of(store, UID) if e.is_a("tool_call")] == ["c1"]
        for write in writes[2:6]:
            write()
        collect(store, tmp_path)
        calls = [(e.kind, e.call_id) for e in events_of(store, UID) if e.call_id]
        assert calls == [("tool_call", "c1"), ("tool_result", "c1")]
    made.close()


def test_a_sync_that_was_killed_between_two_lines_goes_on_with_the_next(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    for write in a_long_session(made):
        write()
    ref = only_source(tmp_path)
    whole = lines_after(ref, b"")
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    for end in ends:
        assert lines_after(ref, whole[:end]) == whole[end:]
    # What changed after the kill comes with the rest.
    [first] = made.db.execute("select id from message order by id limit 1")
    info = made.data("message", first[0])
    made.change("message", first[0], {**info, "summary": {"diffs": ["later"]}})
    for end in ends[:-1]:
        rest = lines_after(ref, whole[:end])
        assert b"later" in rest or first[0] == json.loads(whole[:end].splitlines()[-1])["key"]
    made.close()


def test_only_changed_rows_get_lines(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    made.step = 60_000
    session = made.session()
    for number in range(30):
        made.prompt(session, f"prompt {number}")
        made.answer(session, text(f"answer {number}"))
    with collected(tmp_path) as store:
        [before] = store.sources.every()
        made.prompt(session, "one more")
        outcome = collect(store, tmp_path)
        [after] = store.sources.every()
        assert outcome.report.ingested == 1
        assert 0 < after.kept - before.kept < 3000
        assert len(after.cursor_state) < 12_000
        outcome = collect(store, tmp_path)
        assert (outcome.report.ingested, outcome.report.unchanged) == (0, 1)
    made.close()


def test_the_rows_can_be_written_to_files_exactly_as_they_are(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path / "home")
    for write in a_long_session(made):
        write()
    with collected(tmp_path / "home") as store:
        [file] = restore_native(store, None, tmp_path / "rows")
    assert file.path.name == "ses_a.jsonl"
    last: dict[str, dict[str, Any]] = {}
    for line in file.path.read_text().splitlines():
        native = json.loads(line)
        last[native["key"]] = native
    found = list(last.values())
    assert [native["row"] for native in found[:1]] == made.rows("session")
    assert [native["row"] for native in found[1:]] == made.rows("message")
    assert [part for native in found[1:] for part in native["parts"]] == made.rows("part")
    made.close()


def test_what_the_agent_deletes_stays(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    for write in a_long_session(made):
        write()
    made.prompt(made.session("ses_b"), "another")
    with collected(tmp_path) as store:
        before = of(store)
        made.db.execute("delete from part where session_id = 'ses_a'")
        made.db.execute("delete from message where session_id = 'ses_a'")
        made.db.execute("delete from session where id = 'ses_a'")
        made.db.execute("vacuum")
        outcome = collect(store, tmp_path)
        assert outcome.vanished == 1
        assert of(store) == before
        made.close()
        made.path.unlink()
        collect(store, tmp_path)
        assert of(store) == before
        check_sound(store)


def test_a_vacuumed_replaced_or_older_database_doubles_nothing(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    writes = a_long_session(made)
    for write in writes[:8]:
        write()
    shutil.copyfile(made.path, tmp_path / "older")
    for write in writes[8:]:
        write()
    with collected(tmp_path) as store:
        before, used = of(store), tokens(store)
        made.db.execute("vacuum")
        made.close()
        collect(store, tmp_path)
        assert (of(store), tokens(store)) == (before, used)
        newest = made.path.read_bytes()
        shutil.copyfile(tmp_path / "older", made.path)
        collect(store, tmp_path)
        assert (of(store), tokens(store)) == (before, used)
        made.path.write_bytes(newest)
        collect(store, tmp_path)
        assert (of(store), tokens(store)) == (before, used)
        assert store.problems.count() == 0
        check_sound(store)


def test_rows_that_are_written_after_the_clock_was_set_back_are_found(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    made.prompt(session, "first")
    made.answer(session, text("one"))
    with collected(tmp_path) as store:
        made.now -= 3_600_000
        made.prompt(session, "second")
        made.answer(session, text("two"))
        collect(store, tmp_path)
        prompts = [e.summary for e in events_of(store, UID) if e.is_a("user_msg")]
        assert sorted(prompts) == ["first", "second"]
        assert len(tokens(store)) == 2
        assert store.problems.count() == 0
    made.close()


def test_a_damaged_database_is_one_problem_and_its_sessions_stay(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    for write in a_long_session(made):
        write()
    made.close()
    whole = made.path.read_bytes()
    with collected(tmp_path) as store:
        before = of(store)
        for damaged in (b"rubbish" * 1000, whole[:100] + b"\xff" * 5000, whole[: len(whole) // 2]):
            made.path.write_bytes(damaged)
            outcome = collect(store, tmp_path)
            assert outcome.vanished == 0
            assert of(store) == before
        assert store.problems.count() >= 1
        made.path.write_bytes(whole)
        collect(store, tmp_path)
        assert of(store) == before


def test_a_database_in_use_is_read_without_stopping_its_writer(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path, wal=True)
    for write in a_long_session(made):
        write()
    names = sorted(path.name for path in made.path.parent.iterdir())
    assert f"{made.path.name}-wal" in names
    made.db.execute("begin immediate")
    made.prompt("ses_a", "not committed yet")
    files = [made.path.read_bytes(), Path(f"{made.path}-wal").read_bytes()]
    with collected(tmp_path) as store:
        assert "not committed yet" not in str(of(store))
        assert [made.path.read_bytes(), Path(f"{made.path}-wal").read_bytes()] == files
        made.db.execute("commit")
        collect(store, tmp_path)
        assert "not committed yet" in str(of(store))
        # Nobody holds the database open: its owner can empty the log and remove it.
        made.db.execute("pragma wal_checkpoint(truncate)")
        assert Path(f"{made.path}-wal").stat().st_size == 0
        collect(store, tmp_path)
        made.close()
    assert sorted(path.name for path in made.path.parent.iterdir()) == [made.path.name]


def test_a_copied_write_ahead_log_is_read_and_nothing_is_created_beside_it(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path / "home", wal=True)
    for write in a_long_session(made):
        write()
    copy = tmp_path / "copy/.local/share/opencode"
    copy.mkdir(parents=True)
    for end in ("", "-wal"):
        shutil.copyfile(f"{made.path}{end}", copy / f"opencode.db{end}")
    files = {path.name: path.read_bytes() for path in copy.iterdir()}
    with collected(tmp_path / "copy") as store, collected(tmp_path / "home") as other:
        assert of(store) == of(other)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == files
    made.close()


def test_a_changed_write_ahead_log_is_enough_to_find_what_is_new(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path, wal=True)
    made.prompt(made.session(), "first")
    made.prompt(made.session("ses_b"), "other")
    with collected(tmp_path) as store:
        config = Config()
        where = roots(config, (tmp_path,))
        made.prompt("ses_a", "second")
        beside = [Path(f"{made.path}{end}") for end in ("-wal", "-shm")]
        log = tmp_path / "opencode.log"
        outcome, unexplained = sync_paths(store, config, where, [*beside, log], host=HOST)
        assert (outcome.report.ingested, unexplained) == (1, [log])
        assert "second" in str(of(store))
        outcome, unexplained = sync_paths(store, config, where, beside[1:], host=HOST)
        assert (outcome.report.discovered, unexplained) == (0, [])
    made.close()


def test_masked_rows_are_not_read_again(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    made.prompt(session, "the key is sk-ant-api03-" + "Ab3dEf6hIj" * 9 + "-AbCdEfAA")
    made.answer(session, text("I see."))
    with new_store() as store:
        config = Config(redact=True)
        where = roots(config, (tmp_path,))
        sync(store, config, where)
        [before] = store.sources.every()
        made.db.execute("update session set time_updated = time_updated + 1")
        sync(store, config, where)
        [after] = store.sources.every()
        assert after.kept - before.kept < 1000
        assert "Ab3dEf6hIj" not in str(of(store))
    made.close()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    directory = tmp_path / ".local/share/opencode"
    directory.mkdir(parents=True)
    (directory / "opencode.db").write_bytes(b"no database")
    [found] = AGENT.discover(tmp_path)
    assert isinstance(found, Unlisted)
    (directory / "opencode.db").write_bytes(b"")
    assert list(AGENT.discover(tmp_path)) == []
