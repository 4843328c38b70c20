"""What is new of an evicted session is kept, whether or not the rest of it can be brought back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from keeping import Keeper, analyzed, talk

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config
from session_memory.retain.forget import forget
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeLog
from session_memory.testing.collecting import check_same, check_sound, contents, events_of

ALPHA = "claude:alpha"
GROWN = b"grown-words"

Prepare = Callable[[Keeper, ClaudeLog], object]
PREPARED: dict[str, Prepare] = {
    "alone": lambda keeper, log: None,
    "subagent": lambda keeper, log: talk(keeper.claude.subagent(log, "sub"), "below"),
    "spill": lambda keeper, log: log.spill("out.txt", b"spilled\n" * 50),
}


def collected(keeper: Keeper) -> SyncOutcome:
    where = roots(keeper.config, (keeper.claude.path,))
    return sync(keeper.store, keeper.config, where, host="here")


def evicted(keeper: Keeper, prepare: Prepare) -> ClaudeLog:
    log = talk(keeper.claude.session("alpha"), "one")
    prepare(keeper, log)
    keeper.collect()
    analyzed(keeper.store)
    assert keeper.retain().report.backstop_evicted
    return log


def raw(keeper: Keeper) -> bytes:
    store = keeper.store
    return b"".join(p for row in store.sources.every() for p in store.raw.pieces(row.id))


def check_like_new(keeper: Keeper) -> None:
    check_sound(keeper.store)
    with open_store(":memory:") as fresh:
        sync(fresh, Config(), roots(Config(), (keeper.claude.path,)), host="here")
        check_same(contents(fresh), contents(keeper.store))


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("prepare", PREPARED.values(), ids=PREPARED)
@pytest.mark.parametrize("archive", ["none", "away"])
def test_logs_that_are_all_still_there_are_read_from_their_beginning(
    keeper: Keeper, tmp_path: Path, prepare: Prepare, archive: str
) -> None:
    keeper.limits.archive = archive == "away"
    log = evicted(keeper, prepare)
    if archive == "away":
        keeper.archive.rename(tmp_path / "elsewhere")
    talk(log, GROWN.decode())
    keeper.claude.write()
    outcome = collected(keeper)
    assert (outcome.report.failed, outcome.problems_found) == (0, [])
    check_like_new(keeper)
    assert collected(keeper).report.ingested == 0


@pytest.mark.parametrize("gone", ["subagent", "spill"])
def test_what_is_new_waits_for_the_archive(keeper: Keeper, tmp_path: Path, gone: str) -> None:
    log = evicted(keeper, PREPARED[gone])
    elsewhere = keeper.archive.rename(tmp_path / "elsewhere")
    lost = [p for p in keeper.claude.path.rglob("*") if p.name in ("agent-sub.jsonl", "out.txt")]
    kept = {path: path.read_bytes() for path in lost}
    assert kept
    for path in lost:
        path.unlink()
    place = keeper.claude.path / log.place
    for more in (GROWN, b"torn-off", b"once-again"):
        talk(log, more.decode())
        whole = log.data
        # The last line is caught while it is being written.
        place.write_bytes(whole[:-20])
        outcome = collected(keeper)
        assert outcome.report.failed == 0
        assert more in raw(keeper)
        check_sound(keeper.store)
        assert keeper.store.sessions.is_evicted(ALPHA)
        assert events_of(keeper.store, ALPHA) == []
    place.write_bytes(log.data)
    collected(keeper)
    place.touch()
    assert collected(keeper).report.failed == 0
    assert {row.generation for row in keeper.store.sources.every()} == {0}
    assert keeper.store.problems.count() == 1
    elsewhere.rename(keeper.archive)
    for path, data in kept.items():
        path.write_bytes(data)
    collected(keeper)
    assert keeper.store.problems.count() == 0
    check_like_new(keeper)


def test_a_log_that_was_replaced_by_its_own_copy_goes_on_where_it_was(
    keeper: Keeper, tmp_path: Path
) -> None:
    log = evicted(keeper, PREPARED["subagent"])
    elsewhere = keeper.archive.rename(tmp_path / "elsewhere")
    for path in keeper.claude.path.rglob("agent-sub.jsonl"):
        path.rename(tmp_path / "agent-sub.jsonl")
    place = keeper.claude.path / log.place
    for more in ("first", "second"):
        talk(log, more)
        copy = place.with_name("copy")
        copy.write_bytes(log.data)
        copy.replace(place)
        collected(keeper)
    assert {row.generation for row in keeper.store.sources.every()} == {0}
    elsewhere.rename(keeper.archive)
    keeper.claude.write()
    collected(keeper)
    check_like_new(keeper)


def test_the_lines_of_a_log_that_was_written_anew_wait_too(keeper: Keeper) -> None:
    keeper.limits.archive = False
    log = evicted(keeper, PREPARED["alone"])
    talk(log, GROWN.decode())
    changed = log.data.replace(b"one", b"0ne")
    (keeper.claude.path / log.place).write_bytes(changed)
    for _ in range(2):
        assert collected(keeper).report.failed == 0
        assert raw(keeper) == changed
        check_sound(keeper.store)


def test_what_waits_is_forgotten_with_the_rest(keeper: Keeper, tmp_path: Path) -> None:
    log = evicted(keeper, PREPARED["subagent"])
    for path in keeper.claude.path.rglob("agent-sub.jsonl"):
        path.unlink()
    keeper.archive.rename(tmp_path / "elsewhere")
    talk(log, GROWN.decode())
    (keeper.claude.path / log.place).write_bytes(log.data)
    collected(keeper)
    assert GROWN in raw(keeper)
    done = forget(keeper.store, keeper.config, [ALPHA, f"{ALPHA}:sub"], 0)
    assert done.proof.samples
    assert done.proof.found == []
    assert raw(keeper) == b""
    check_sound(keeper.store)
