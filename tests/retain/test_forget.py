"""Forgetting: the text is in no file of ours, others keep what they hold, nothing comes back."""

import json
import random
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from keeping import LATER, Keeper, talk
from late import Late

from session_memory.core.errors import CannotForget, UnknownSession
from session_memory.learn.analyze import analyze
from session_memory.live import SessionStore
from session_memory.retain.forget import ForgetResult, allow_again, forget, sweep
from session_memory.retain.forget_plan import plan_of, with_relatives
from session_memory.retain.lake import export as export_lake
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.store import Store, open_store
from session_memory.store.copying import copy_everything
from session_memory.store.migrations import all_tables
from session_memory.store.retention import SOURCE, source_key
from session_memory.store.retention_archive import Archive, unpacked
from session_memory.store.zstandard import zstd
from session_memory.testing.claude import call, line_of, usage
from session_memory.testing.collecting import check_sound, events_of, rebuilt, usage_of

parquet = Late("pyarrow.parquet")

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

ALPHA, BETA = "claude:alpha", "claude:beta"
SECRET = "xylophone-quartet-zanzibar"


def traces(keeper: Keeper, text: str = SECRET) -> list[str]:
    """Every place of ours that holds a text: each file as it is, and everything unpacked."""
    data_of_text = text.encode()
    found = [place for place, data in _everything(keeper) if data_of_text in data.lower()]
    return sorted(set(found))


def _everything(keeper: Keeper) -> Iterator[tuple[str, bytes]]:
    store, beside = keeper.store, Path(keeper.place).parent
    places = [keeper.archive, *([beside] if beside.is_dir() else [])]
    for file in (file for place in places for file in place.rglob("*") if file.is_file()):
        yield str(file), file.read_bytes()
    for table in all_tables():
        for row in store.db.all(f"select * from {table}"):
            for value in row:
                yield table, value if isinstance(value, bytes) else str(value).encode()
                if isinstance(value, bytes) and table not in ("packs", "events", "copies"):
                    yield table, _unpacked(value)
    for row in store.sources.every():
        for piece in store.raw.pieces(row.id):
            yield f"raw of {row.path}", piece
    for file in Archive(keeper.archive).files():
        for _, pack, dictionary in Archive(keeper.archive).read(file):
            yield f"{file} unpacked", unpacked(file, pack, dictionary)
        for _, body in Archive(keeper.archive).dictionaries(file).values():
            yield f"{file} dictionary", zstd.decompress(body)
    for table in ("words", "title_words"):
        terms = store.db.word_engine(table).terms(last="\U0010ffff")
        yield table, " ".join(term for term, _ in terms).encode()


def _unpacked(value: bytes) -> bytes:
    try:
        return bytes(zstd.decompress(value))
    except (zstd.ZstdError, EOFError):
        return b""


def forgotten(keeper: Keeper, *uids: str, **how: bool) -> ForgetResult:
    selected = with_relatives(keeper.store, uids, **how)
    return forget(keeper.store, keeper.config, selected, LATER)


def secretive(keeper: Keeper, name: str = "alpha") -> None:
    log = talk(keeper.claude.session(name), f"please {SECRET}")
    log.answer("I run it.", call(f"Tool_{SECRET}", command=SECRET), used=usage(1))
    log.result(f"{SECRET}\n" * 50, is_error=True)
    log.custom_title(f"about {SECRET}")


def test_a_forgotten_session_is_in_no_file_and_does_not_come_back(keeper: Keeper) -> None:
    secretive(keeper)
    talk(keeper.claude.session("beta"), "something else")
    keeper.collect()
    assert traces(keeper)
    done = forgotten(keeper, ALPHA)
    assert done.proof.found == []
    assert done.proof.samples > done.proof.held_by_others
    assert traces(keeper) == []
    for _ in range(2):
        keeper.collect()
        assert keeper.store.sessions.uids() == [BETA]
        assert traces(keeper) == []
    check_sound(keeper.store)


def test_it_stays_out_when_its_log_grows_and_when_it_is_found_elsewhere(keeper: Keeper) -> None:
    secretive(keeper)
    keeper.collect()
    forgotten(keeper, ALPHA)
    log = keeper.claude.logs[0]
    talk(log, "one more thing")
    talk(keeper.claude.keep(log.moved("-home-mira-elsewhere")), "and more")
    keeper.collect()
    assert keeper.store.sessions.uids() == []
    assert traces(keeper) == []


def test_it_may_come_back_once_that_is_allowed(keeper: Keeper) -> None:
    secretive(keeper)
    keeper.collect()
    before = keeper.store.fingerprint()
    forgotten(keeper, ALPHA)
    assert allow_again(keeper.store, ALPHA)
    assert not allow_again(keeper.store, ALPHA)
    keeper.collect()
    assert keeper.store.fingerprint() == before


@BOTH
def test_an_evicted_session_is_forgotten_in_the_archive_too(keeper: Keeper) -> None:
    secretive(keeper)
    talk(keeper.claude.session("beta"), "something else")
    keeper.collect()
    whole = keeper.store.fingerprint()
    assert whole
    keeper.evict(ALPHA, BETA)
    assert len(Archive(keeper.archive).files()) == 1
    done = forgotten(keeper, ALPHA)
    assert done.proof.found == []
    assert traces(keeper) == []
    keeper.restore(BETA)
    assert len(events_of(keeper.store, BETA)) == 2
    check_sound(keeper.store)


def test_what_is_left_in_the_archive_of_a_restored_session_goes_too(keeper: Keeper) -> None:
    secretive(keeper)
    keeper.collect()
    keeper.evict(ALPHA)
    keeper.restore(ALPHA)
    forgotten(keeper, ALPHA)
    assert traces(keeper) == []
    assert Archive(keeper.archive).files() == []


def test_forks_keep_what_they_hold_and_it_counts_for_them(keeper: Keeper) -> None:
    origin = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.fork(origin, "beta"), "two")
    keeper.collect()
    forgotten(keeper, ALPHA)
    assert [e.summary for e in events_of(keeper.store, BETA)] == ["one", "one!", "two", "two!"]
    assert [used.usage_id for used in usage_of(keeper.store, BETA)] == ["msg_one", "msg_two"]
    check_sound(keeper.store)
    fingerprint = keeper.store.fingerprint()
    assert rebuilt(keeper.store).fingerprint() == fingerprint


def test_forks_and_subagents_go_along_when_asked(keeper: Keeper) -> None:
    origin = talk(keeper.claude.session("alpha"), f"one {SECRET}")
    talk(keeper.claude.subagent(origin, "a1"), f"below {SECRET}")
    talk(keeper.claude.fork(origin, "beta"), "two")
    keeper.collect()
    kept = with_relatives(keeper.store, [ALPHA], subagents=False)
    assert kept == [ALPHA]
    done = forgotten(keeper, ALPHA, forks=True)
    assert set(done.plan.uids) == {ALPHA, BETA, origin.uid_of("a1")}
    assert traces(keeper) == []
    keeper.collect()
    assert keeper.store.sessions.uids() == []


@BOTH
def test_in_a_log_that_several_sessions_share_its_records_become_blanks(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "mine")
    strange = json.loads(log.lines[0]) | {"sessionId": "beta", "uuid": "other-1"}
    strange["message"] = {"role": "user", "content": f"this is {SECRET}"}
    log.raw(line_of(strange))
    talk(log, "mine again")
    keeper.collect()
    assert keeper.store.sessions.uids() == [ALPHA, BETA]
    done = forgotten(keeper, BETA)
    assert len(done.plan.shared) == 1
    assert traces(keeper) == []
    keeper.collect()
    strange["uuid"] = "other-2"
    log.raw(line_of(strange))
    talk(log, "the end")
    keeper.collect()
    assert keeper.store.sessions.uids() == [ALPHA]
    summaries = [event.summary for event in events_of(keeper.store, ALPHA)]
    assert summaries == ["mine", "mine!", "mine again", "mine again!", "the end", "the end!"]
    assert traces(keeper) == []
    check_sound(keeper.store)
    fingerprint = keeper.store.fingerprint()
    assert rebuilt(keeper.store).fingerprint() == fingerprint


@BOTH
def test_dictionaries_that_came_from_it_are_replaced_everywhere(keeper: Keeper) -> None:
    boilerplate = " ".join(f"rule {n} says {n * 7919}" for n in range(4000))
    for name, words in (("alpha", SECRET), ("beta", "other"), ("gamma", "more"), ("delta", "x")):
        log = keeper.claude.session(name)
        log.prompt(f"{words} {boilerplate}")
        talk(log, f"{name} ends")
    keeper.collect()
    stored = [number for number, _, body in keeper.store.retention.dictionaries() if body]
    assert stored, "nothing was compressed with a dictionary: this test tests nothing"
    keeper.evict("claude:gamma")
    forgotten(keeper, ALPHA)
    assert traces(keeper) == []
    keeper.restore("claude:gamma")
    for name in ("beta", "gamma", "delta"):
        assert len(events_of(keeper.store, f"claude:{name}")) == 3
    check_sound(keeper.store)


def test_its_rows_go_from_the_lake(keeper: Keeper) -> None:
    secretive(keeper)
    talk(keeper.claude.session("beta"), "something else")
    keeper.collect()
    lake = keeper.archive / "lake"
    export_lake(keeper.store, lake)
    forgotten(keeper, ALPHA)
    files = sorted(lake.rglob("*.parquet"))
    assert len(files) == 3
    for file in files:
        with parquet.ParquetFile(file) as opened:
            table = opened.read()
        assert set(table.column("session_uid").to_pylist()) == {BETA}
        assert SECRET not in str(table.to_pylist())


def test_an_import_does_not_bring_it_back(keeper: Keeper, tmp_path: Path) -> None:
    secretive(keeper)
    talk(keeper.claude.session("beta"), "something else")
    keeper.collect()
    export_store(keeper.store, tmp_path / "all.export")
    forgotten(keeper, ALPHA)
    import_store(keeper.store, tmp_path / "all.export", keeper.config)
    assert keeper.store.sessions.uids() == [BETA]
    assert traces(keeper) == []


@BOTH
def test_a_live_session_is_forgotten_with_its_messages(keeper: Keeper) -> None:
    with SessionStore.open(keeper.place) as live:
        one = live.create_session(session_id="sess_one", system_prompt=f"know {SECRET}")
        live.append_message(one, role="user", content=f"tell me about {SECRET}")
        live.append_message(one, role="assistant", content=f"this is {SECRET} " * 2000)
        live.fork_session(one, new_id="sess_two")
        rest = live.create_session(session_id="sess_rest")
        live.append_message(rest, role="user", content="something else")
    keeper.collect()
    with pytest.raises(CannotForget):
        forgotten(keeper, "live:sess_one")
    done = forgotten(keeper, "live:sess_one", forks=True)
    assert done.proof.found == []
    assert traces(keeper) == []
    keeper.collect()
    assert keeper.store.sessions.uids() == ["live:sess_rest"]
    with SessionStore.open(keeper.place) as live:
        assert [row.content for row in live.load_all_messages(rest)] == ["something else"]


def test_a_dry_look_names_what_goes_and_what_it_cannot_reach(keeper: Keeper) -> None:
    secretive(keeper)
    keeper.collect()
    before = keeper.store.fingerprint()
    plan = plan_of(keeper.store, keeper.config, [ALPHA])
    assert plan.uids == [ALPHA]
    assert len(plan.sources) == 1
    assert any("the agent's own log" in line for line in plan.unreachable)
    assert keeper.store.fingerprint() == before
    with pytest.raises(UnknownSession):
        plan_of(keeper.store, keeper.config, ["claude:nobody"])


@BOTH
def test_what_a_killed_run_left_in_free_pages_is_swept_by_the_next(keeper: Keeper) -> None:
    secretive(keeper)
    keeper.collect()
    forgotten(keeper, ALPHA)
    assert sweep(keeper.store) is None


@pytest.mark.only("sqlite")
def test_a_reader_that_keeps_the_log_is_told_and_the_log_is_swept_later(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.store.sqlite_waiting.BUSY_S", 0.1)
    secretive(keeper)
    keeper.collect()
    with open_store(keeper.place) as reader, reader.db.snapshot():
        assert reader.sessions.uids() == [ALPHA]
        done = forgotten(keeper, ALPHA)
        assert [Path(place).name for place in done.proof.found] == ["kept.db", "kept.db-wal"]
    assert done.proof.unswept
    assert sweep(keeper.store) == []
    assert traces(keeper) == []
    assert sweep(keeper.store) is None


@BOTH
def test_tombstones_hold_no_word_of_what_they_are_for(keeper: Keeper) -> None:
    secretive(keeper, f"alpha-{SECRET}")
    keeper.collect()
    (uid,) = keeper.store.sessions.uids()
    forgotten(keeper, uid)
    assert keeper.store.retention.tombstones()
    assert traces(keeper) == []


def test_a_store_that_was_copied_keeps_it_out_as_well(keeper: Keeper, tmp_path: Path) -> None:
    secretive(keeper)
    keeper.collect()
    forgotten(keeper, ALPHA)
    with open_store(tmp_path / "copy.db") as copy:
        copy_everything(keeper.store, copy)
        assert isinstance(copy, Store)
        assert copy.retention.tombstones() == keeper.store.retention.tombstones()


# ---------------------------------------------------------------- what nobody can read any more


def boilerplate(keeper: Keeper, name: str, words: str, size: int) -> None:
    """Logs that begin so much alike that the head of the first becomes their dictionary."""
    alike = "".join(random.Random(1).choices(string.ascii_letters + " ", k=size))
    log = keeper.claude.session(name)
    log.prompt(f"{words} please {alike}")
    log.answer(f"ok {name}", id=f"msg_{name}", used=usage(10))
    log.ai_title(f"A plain title of {name}")


@BOTH
@pytest.mark.parametrize("size", [90_000, 140_000])
@pytest.mark.parametrize("lost", ["without an archive", "archive gone"])
def test_a_dictionary_of_unknown_origin_goes_with_a_session_that_cannot_be_read(
    keeper: Keeper, lost: str, size: int
) -> None:
    boilerplate(keeper, "alpha", SECRET, size)
    for name in ("beta", "gamma"):
        boilerplate(keeper, name, "other", size)
    keeper.collect()
    before = b"".join(keeper.store.raw.pieces(_source_of(keeper, "beta")))
    keeper.limits.archive = lost == "archive gone"
    keeper.evict(ALPHA)
    for file in Archive(keeper.archive).files():
        file.unlink()
    assert "dictionaries" in traces(keeper)
    assert forget(keeper.store, keeper.config, [ALPHA], LATER).proof.found == []
    assert traces(keeper) == []
    assert b"".join(keeper.store.raw.pieces(_source_of(keeper, "beta"))) == before
    check_sound(keeper.store)


@BOTH
def test_a_dictionary_that_a_kept_log_begins_with_stays(keeper: Keeper) -> None:
    for name in ("alpha", "beta"):
        boilerplate(keeper, name, "other", 90_000)
    talk(keeper.claude.session("lost"), "one")
    keeper.collect()
    known = keeper.store.retention.dictionaries()
    assert known
    keeper.limits.archive = False
    keeper.evict("claude:lost")
    forget(keeper.store, keeper.config, ["claude:lost"], LATER)
    assert keeper.store.retention.dictionaries() == known


def _source_of(keeper: Keeper, name: str) -> int:
    (found,) = [row.id for row in keeper.store.sources.every() if name in row.path]
    return found


@BOTH
def test_the_proof_looks_for_what_the_digest_of_an_evicted_session_knew(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), SECRET)
    keeper.collect()
    analyze(keeper.store)
    keeper.limits.archive = False
    keeper.evict(ALPHA)
    assert SECRET in (keeper.store.sessions.row(ALPHA).title or "")  # type: ignore[union-attr]
    with keeper.store.transaction():
        keeper.store.db.execute("update sessions set title = null")
        body = zstd.compress(f"… {SECRET} …".encode())
        keeper.store.db.insert_one("dictionaries", ("flavor", "body"), ("nobody", body))
    proof = forget(keeper.store, keeper.config, [ALPHA], LATER).proof
    assert "table dictionaries" in proof.found


# ---------------------------------------------------------------- what comes later


@pytest.mark.parametrize("below", [True, False])
def test_a_subagent_that_comes_after_its_parent_was_forgotten_stays_out(
    keeper: Keeper, below: bool
) -> None:
    log = talk(keeper.claude.session("alpha"), SECRET)
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    late = keeper.claude.keep(log.subagent("late", below=below))
    for _ in range(2):
        talk(late, f"{SECRET}-late")
        keeper.collect()
        assert keeper.store.sessions.uids() == [BETA]
        assert traces(keeper) == []
    check_sound(keeper.store)


def test_a_subagent_that_was_left_goes_on(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    child = keeper.claude.keep(log.subagent("left", below=False))
    talk(child, "two")
    keeper.collect()
    uid = f"{ALPHA}:left"
    assert uid in keeper.store.sessions.uids()
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    talk(child, "three")
    keeper.collect()
    assert len(events_of(keeper.store, uid)) == 4


@BOTH
def test_a_live_session_with_a_log_of_its_own_is_forgotten_and_let_in_again(
    keeper: Keeper,
) -> None:
    with SessionStore.open(keeper.place) as live:
        one = live.create_session(session_id="sess_one")
        live.append_message(one, role="user", content=SECRET)
    keeper.collect()
    uid = "live:sess_one"
    row, *_ = keeper.store.sources.named_for("live", "sess_one")
    with keeper.store.transaction():
        # A file that another machine brought along for the same session.
        row.id, row.uid, row.path, row.host = 0, "", "/elsewhere/sess_one.jsonl", "there"
        keeper.store.sources.save(row)
    forget(keeper.store, keeper.config, [uid], LATER)
    key = source_key("there", "/elsewhere/sess_one.jsonl")
    assert key in keeper.store.retention.tombstones()[SOURCE]
    allow_again(keeper.store, uid)
    assert key not in keeper.store.retention.tombstones().get(SOURCE, set())


# ---------------------------------------------------------------- whose file it is


def test_the_proof_takes_no_lock_of_the_store_away(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, str(tmp_path / "memory.db"))
    talk(keeper.claude.session("alpha"), SECRET)
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    assert forget(keeper.store, keeper.config, [ALPHA], LATER).proof.files
    alone = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute(sys.argv[2])"
    words = [sys.executable, "-c", alone, keeper.place, "pragma journal_mode = delete"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "database is locked" in done.stderr
    keeper.close()
    assert subprocess.run(words, check=False).returncode == 0


@BOTH
def test_no_problem_of_an_evicted_session_names_a_forgotten_one(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    thief = keeper.claude.session("thief")
    words = {"role": "user", "content": "other words"}
    thief.add({**json.loads(log.lines[0]), "message": words, "sessionId": "thief"})
    keeper.collect()
    assert [one.detail.partition(":")[0] for one in keeper.store.problems.every()] == ["claude"]
    keeper.evict(thief.uid)
    assert keeper.store.problems.count() == 1
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    assert not keeper.store.problems.every()
    keeper.restore(thief.uid)
    assert not keeper.store.problems.every()
    assert [event.summary for event in events_of(keeper.store, thief.uid)] == ["other words"]
    check_sound(keeper.store)
