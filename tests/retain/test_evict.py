"""Evicting and restoring: what goes, what stays, and that nothing is lost on the way."""

import shutil
from pathlib import Path

import pytest
from keeping import LATER, Keeper, analyzed, talk

from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.learn.analyze import analyze
from session_memory.learn.digests import digest_of
from session_memory.retain.evict import evict
from session_memory.retain.native_files import restore_native
from session_memory.retain.passes import plan
from session_memory.retain.portable_file import export_store
from session_memory.retain.restore import FailedRestore, restore
from session_memory.retain.retention_run import retain
from session_memory.retain.units import units
from session_memory.retain.verification import verify
from session_memory.store import open_store
from session_memory.store.copying import copy_everything
from session_memory.store.retention_archive import Archive
from session_memory.testing.collecting import (
    check_restores,
    check_same,
    check_sound,
    contents,
    events_of,
    inherited_by,
    rebuilt,
    usage_of,
)

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

ALPHA, BETA = "claude:alpha", "claude:beta"


def costs(keeper: Keeper) -> dict[str, dict[str, object]]:
    """What each session used; how long it took and its turns depend on the events it owns."""
    costs = {one.session_uid: one.cost.to_dict() for one in keeper.store.sessions.every()}
    return {uid: {k: v for k, v in cost.items() if "tokens" in k} for uid, cost in costs.items()}


def is_evicted(keeper: Keeper, uid: str) -> bool:
    return keeper.store.sessions.is_evicted(uid)


def test_what_is_evicted_comes_back_byte_for_byte(keeper: Keeper, tmp_path: Path) -> None:
    talk(keeper.claude.session("alpha"), "one", "two")
    talk(keeper.claude.session("beta"), "three")
    keeper.collect()
    before, was = contents(keeper.store), costs(keeper)
    analyzed(keeper.store)
    report = keeper.retain().report
    assert report.backstop_evicted == 2
    assert report.final_usage_bytes == 0
    assert events_of(keeper.store, ALPHA) == []
    assert costs(keeper) == was
    assert keeper.store.raw.stored_bytes() == (0, 0)
    keeper.restore()
    check_same(before, contents(keeper.store))
    check_sound(keeper.store)
    check_restores(keeper.store, keeper.claude.path, tmp_path / "again")


def test_what_grew_after_it_was_analyzed_stays(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    talk(log, "two")
    keeper.collect()
    assert keeper.retain().gone == []
    assert len(events_of(keeper.store, ALPHA)) == 4


def test_what_is_pinned_stays_whatever_its_age_and_the_caps(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    with keeper.store.transaction():
        keeper.store.retention.pin(ALPHA, 0)
    keeper.limits.raw_soft_cap_bytes = keeper.limits.raw_hard_cap_bytes = 1
    outcome = keeper.retain()
    assert outcome.gone == []
    assert outcome.report.over_hard_cap


def test_a_sync_leaves_what_is_evicted_and_did_not_change_where_it_is(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    keeper.collect()
    assert is_evicted(keeper, ALPHA)
    assert keeper.store.raw.stored_bytes() == (0, 0)


def test_a_log_that_was_only_touched_stays_evicted(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    for path in keeper.claude.path.rglob("*.jsonl"):
        shutil.copy(path, path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)
    keeper.collect()
    assert is_evicted(keeper, ALPHA)


@pytest.mark.parametrize("archived", [True, False])
def test_what_grows_comes_back_whole(keeper: Keeper, archived: bool) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    keeper.limits.archive = archived
    keeper.collect()
    keeper.evict(ALPHA)
    talk(log, "two")
    keeper.collect()
    assert not is_evicted(keeper, ALPHA)
    summaries = [event.summary for event in events_of(keeper.store, ALPHA)]
    assert summaries == ["one", "one!", "two", "two!"]
    assert costs(keeper)[ALPHA]["output_tokens"] == 20
    check_sound(keeper.store)


def test_a_second_file_of_an_evicted_session_brings_it_back(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    moved = keeper.claude.keep(log.moved("-home-mira-code-other"))
    talk(moved, "two")
    keeper.collect()
    assert not is_evicted(keeper, ALPHA)
    assert "two!" in [event.summary for event in events_of(keeper.store, ALPHA)]
    check_sound(keeper.store)


def test_without_its_archive_what_is_new_waits_and_says_so(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    hidden = keeper.archive.rename(keeper.archive.with_name("elsewhere"))
    talk(keeper.claude.keep(log.moved("-home-mira-code-other")), "two")
    keeper.collect()
    assert is_evicted(keeper, ALPHA)
    assert [problem.reason for problem in keeper.store.problems.every()] == ["evicted"]
    hidden.rename(keeper.archive)
    keeper.restore(ALPHA)
    assert "two!" in [event.summary for event in events_of(keeper.store, ALPHA)]


@BOTH
def test_evicting_the_owner_gives_what_others_hold_to_them(keeper: Keeper) -> None:
    origin = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.fork(origin, "beta"), "two")
    keeper.collect()
    before, was = contents(keeper.store), costs(keeper)
    assert [event.summary for _, event in inherited_by(keeper.store, BETA)] == ["one", "one!"]
    keeper.evict(ALPHA)
    assert [e.summary for e in events_of(keeper.store, BETA)] == ["one", "one!", "two", "two!"]
    assert keeper.store.sessions.row(BETA).parent_uid == ALPHA  # type: ignore[union-attr]
    assert costs(keeper) == was
    assert [used.usage_id for used in usage_of(keeper.store, ALPHA)] == ["msg_one"]
    check_sound(keeper.store)
    rebuilt(keeper.store)
    assert costs(keeper) == was
    keeper.restore(ALPHA)
    check_same(before, contents(keeper.store))


@BOTH
def test_evicting_a_fork_leaves_its_origin_as_it_was(keeper: Keeper) -> None:
    origin = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.fork(origin, "beta"), "two")
    keeper.collect()
    before, was = contents(keeper.store), costs(keeper)
    keeper.evict(BETA)
    assert [e.summary for e in events_of(keeper.store, ALPHA)] == ["one", "one!"]
    assert costs(keeper) == was
    check_sound(keeper.store)
    keeper.restore(BETA)
    check_same(before, contents(keeper.store))


def test_a_fork_of_what_is_evicted_counts_nothing_twice(keeper: Keeper) -> None:
    origin = talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    talk(keeper.claude.fork(origin, "beta"), "two")
    keeper.collect()
    assert is_evicted(keeper, ALPHA)
    tokens = {uid: cost["output_tokens"] for uid, cost in costs(keeper).items()}
    assert tokens == {ALPHA: 10, BETA: 10}
    assert keeper.store.sessions.row(BETA).parent_uid == ALPHA  # type: ignore[union-attr]
    keeper.restore(ALPHA)
    assert [event.summary for _, event in inherited_by(keeper.store, BETA)] == ["one", "one!"]
    check_sound(keeper.store)


def test_subagents_and_spilled_outputs_go_and_come_with_their_session(
    keeper: Keeper, tmp_path: Path
) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.subagent(log, "a1"), "below")
    log.spill("big", b"a long output\n" * 100)
    keeper.collect()
    before = contents(keeper.store)
    keeper.evict(*keeper.store.sessions.uids())
    assert keeper.store.retention.used_bytes() == 0
    (restored,) = keeper.restore(ALPHA)
    assert set(restored.sessions) == {ALPHA, log.uid_of("a1")}
    check_same(before, contents(keeper.store))
    check_restores(keeper.store, keeper.claude.path, tmp_path / "again")


def test_rebuild_verify_export_and_copy_work_on_what_is_left(
    keeper: Keeper, tmp_path: Path
) -> None:
    talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    whole, was = contents(keeper.store), costs(keeper)
    keeper.evict(ALPHA)
    before = keeper.store.fingerprint()
    assert rebuilt(keeper.store).fingerprint() == before
    assert costs(keeper) == was
    found = verify(keeper.store, sample=100)
    assert (found.findings, found.evicted, found.sessions) == ([], 1, 1)
    assert export_store(keeper.store, tmp_path / "all.export").sources == 1
    with pytest.raises(SessionEvicted):
        export_store(keeper.store, tmp_path / "one.export", [ALPHA])
    with pytest.raises(SessionEvicted):
        restore_native(keeper.store, [ALPHA], tmp_path / "native")
    with open_store(tmp_path / "copy.db") as copy:
        copy_everything(keeper.store, copy)
        assert copy.fingerprint() == before
    keeper.restore(ALPHA)
    check_same(whole, contents(keeper.store))


def test_a_restored_session_is_not_evicted_by_the_next_run(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    keeper.restore(ALPHA)
    analyzed(keeper.store)
    assert keeper.retain().gone == []


def test_what_is_in_the_archive_already_is_not_written_again(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    keeper.restore(ALPHA)
    with keeper.store.transaction():
        keeper.store.retention.unpin(ALPHA)
    keeper.evict(ALPHA)
    assert is_evicted(keeper, ALPHA)
    assert len(Archive(keeper.archive).files()) == 1


def test_the_archive_is_private_and_says_what_it_holds(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    archive = Archive(keeper.archive)
    (file,) = archive.files()
    assert file.stat().st_mode & 0o777 == 0o600
    assert keeper.archive.stat().st_mode & 0o777 == 0o700
    (held,) = archive.manifest(file).sources
    assert held.sessions == [ALPHA]
    assert archive.check(file) == []


def test_a_damaged_archive_is_noticed_and_nothing_is_restored_from_it(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one", "two")
    keeper.collect()
    keeper.evict(ALPHA)
    (file,) = Archive(keeper.archive).files()
    body = bytearray(file.read_bytes())
    place = body.rindex(b"packs/") + 512 + 20
    body[place] ^= 1
    file.write_bytes(body)
    assert Archive(keeper.archive).check(file)
    with pytest.raises(ArchiveError):
        keeper.restore(ALPHA)
    assert is_evicted(keeper, ALPHA)


def test_an_archive_that_cannot_be_written_keeps_everything_in_the_store(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    keeper.archive.write_text("in the way")
    before = contents(keeper.store)
    with pytest.raises((ArchiveError, OSError)):
        keeper.retain()
    check_same(before, contents(keeper.store))


def over_the_hard_cap(keeper: Keeper) -> None:
    for name in ("alpha", "beta"):
        talk(keeper.claude.session(name), f"{name} one", f"{name} two")
    keeper.collect()
    keeper.limits.raw_soft_cap_bytes = keeper.limits.raw_hard_cap_bytes = 1


def test_over_the_hard_cap_what_was_not_analyzed_is_analyzed_first(keeper: Keeper) -> None:
    over_the_hard_cap(keeper)
    outcome = retain(
        keeper.store, keeper.config, LATER, lambda uids: analyze(keeper.store, list(uids))
    )
    report = outcome.report
    assert (report.overflow_analyzed, report.overflow_data_loss) == (2, 0)
    assert digest_of(keeper.store, ALPHA) is not None
    assert not report.over_hard_cap


def test_what_cannot_be_analyzed_is_a_loss_that_is_counted_and_still_archived(
    keeper: Keeper,
) -> None:
    over_the_hard_cap(keeper)
    before = contents(keeper.store)
    outcome = retain(keeper.store, keeper.config, LATER, lambda uids: None)
    report = outcome.report
    assert (report.overflow_analyzed, report.overflow_data_loss) == (0, 2)
    assert {gone.why for gone in outcome.gone} == {"data loss"}
    last = keeper.store.retention.last_run()
    assert last is not None
    assert '"overflow_data_loss":2' in last[1]
    keeper.restore()
    check_same(before, contents(keeper.store))


@BOTH
def test_what_changes_between_plan_and_eviction_stays(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    steps = plan(units(keeper.store, LATER), 0, keeper.limits, LATER, lambda unit: unit)
    assert len(steps) == 1
    talk(keeper.claude.logs[0], "two")
    keeper.collect()
    archive = Archive(keeper.archive)
    assert list(evict(keeper.store, archive, steps, LATER, lambda repo, cwd: None)) == []
    assert len(events_of(keeper.store, ALPHA)) == 4


def test_digests_stay_when_the_raw_goes_and_are_not_made_again_of_nothing(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyze(keeper.store)
    before = digest_of(keeper.store, ALPHA)
    assert before is not None
    keeper.retain()
    assert is_evicted(keeper, ALPHA)
    analyze(keeper.store)
    analyze(keeper.store, [ALPHA])
    assert digest_of(keeper.store, ALPHA) == before
    rebuilt(keeper.store)
    assert digest_of(keeper.store, ALPHA) == before


def test_a_dry_run_changes_nothing_and_says_what_would_go(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    before = contents(keeper.store)
    outcome = keeper.retain(dry_run=True)
    assert [gone.sessions for gone in outcome.gone] == [(ALPHA,)]
    check_same(before, contents(keeper.store))
    assert not keeper.archive.exists()
    assert keeper.store.retention.last_run() is None


def test_a_damaged_archive_file_costs_the_sessions_in_it(keeper: Keeper) -> None:
    for name in ("s0", "s1", "s2"):
        talk(keeper.claude.session(name), f"words of {name}")
        keeper.collect()
        keeper.evict(f"claude:{name}")
    files = Archive(keeper.archive).files()
    assert len(files) == 3
    body = bytearray(files[1].read_bytes())
    body[600:] = bytes(len(body) - 600)
    files[1].write_bytes(body)
    failed: list[FailedRestore] = []
    back = restore(keeper.store, keeper.config, None, LATER, failed)
    assert sorted(uid for one in back for uid in one.sessions) == ["claude:s0", "claude:s2"]
    assert [one.sessions for one in failed] == [("claude:s1",)] and failed[0].reason
    with pytest.raises(ArchiveError):
        restore(keeper.store, keeper.config, None, LATER)
