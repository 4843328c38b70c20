"""Sessions that are evicted or forgotten together with others, and sessions that are not."""

import json
from pathlib import Path

import pytest
from keeping import LATER, Keeper, analyzed, talk

from session_memory.live import SessionStore
from session_memory.retain import evict
from session_memory.retain.forget import allow_again, forget
from session_memory.retain.forget_plan import plan_of, with_relatives
from session_memory.retain.passes import HARD_CAP, SOFT_CAP, plan
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.retain.units import units
from session_memory.store.retention_archive import Archive
from session_memory.testing.claude import ClaudeHome, line_of
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    contents,
    events_of,
    new_store,
)

pytestmark = pytest.mark.every(3)

ALPHA, BETA = "claude:alpha", "claude:beta"


def evicted(keeper: Keeper) -> list[str]:
    rows = (keeper.store.sessions.row(uid) for uid in keeper.store.sessions.uids())
    return [row.uid for row in rows if row is not None and row.evicted_at is not None]


def test_an_origin_and_its_fork_go_in_one_run(keeper: Keeper) -> None:
    """Evicted one after the other, the fork would own their common events first, and change."""
    origin = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.fork(origin, "beta"), "two")
    keeper.collect()
    before = contents(keeper.store)
    analyzed(keeper.store)
    gone = [eviction.sessions for eviction in keeper.retain().gone]
    assert sorted(gone) == [(ALPHA,), (BETA,)]
    assert evicted(keeper) == [ALPHA, BETA]
    keeper.restore()
    check_same(before, contents(keeper.store))
    check_sound(keeper.store)


def test_sessions_of_one_log_go_and_come_back_together(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    other = json.loads(log.lines[0]) | {"sessionId": "beta", "uuid": "other-1"}
    log.raw(line_of(other))
    keeper.collect()
    analyzed(keeper.store, ALPHA)
    assert keeper.retain().gone == []
    analyzed(keeper.store)
    assert [eviction.sessions for eviction in keeper.retain().gone] == [(ALPHA, BETA)]
    assert evicted(keeper) == [ALPHA, BETA]
    (restored,) = keeper.restore(BETA)
    assert restored.sessions == (ALPHA, BETA)
    assert evicted(keeper) == []
    check_sound(keeper.store)


def test_of_evicted_sessions_of_one_log_one_may_be_forgotten(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    other = json.loads(log.lines[0]) | {"sessionId": "beta", "uuid": "other-1"}
    log.raw(line_of(other))
    keeper.collect()
    keeper.evict(ALPHA, BETA)
    done = forget(keeper.store, keeper.config, [BETA], LATER)
    assert done.proof.found == []
    assert keeper.store.sessions.uids() == [ALPHA]
    assert [event.summary for event in events_of(keeper.store, ALPHA)] == ["one", "one!"]
    (source,) = keeper.store.sources.every()
    assert b"other-1" not in b"".join(keeper.store.raw.pieces(source.id))
    check_sound(keeper.store)


def test_a_subagent_waits_for_its_parent(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.subagent(log, "a1"), "two")
    keeper.collect()
    analyzed(keeper.store, "claude:alpha:a1")
    assert [unit.uids for unit in units(keeper.store, LATER)] == [(ALPHA, "claude:alpha:a1")]
    assert keeper.retain().gone == []


def test_a_subagent_without_its_parent_goes_alone(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.subagent(log, "a1"), "two")
    keeper.collect()
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    assert keeper.evict("claude:alpha:a1").report.backstop_evicted == 1


def test_of_two_that_were_forgotten_one_may_come_back(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    for allowed in (BETA, ALPHA):
        keeper.collect()
        forget(keeper.store, keeper.config, keeper.store.sessions.uids(), LATER)
        assert allow_again(keeper.store, allowed)
        keeper.collect()
        assert keeper.store.sessions.uids() == [allowed]
        allow_again(keeper.store, ALPHA)
        allow_again(keeper.store, BETA)


def test_every_batch_of_an_eviction_gets_an_archive_file(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alpha", "beta", "gamma"):
        talk(keeper.claude.session(name), name)
    keeper.collect()
    before = contents(keeper.store)
    analyzed(keeper.store)
    sizes = [unit.bytes for unit in units(keeper.store, LATER)]
    monkeypatch.setattr(evict, "FILE_BYTES", sizes[0] + sizes[1])
    assert len(keeper.retain().gone) == 3
    files = Archive(keeper.archive).files()
    held = [len(Archive(keeper.archive).manifest(file).sources) for file in files]
    assert sorted(held) == [1, 2]
    keeper.restore()
    check_same(before, contents(keeper.store))


def test_what_was_pinned_or_changed_after_it_was_planned_stays(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    steps = plan(units(keeper.store, LATER), 0, keeper.limits, LATER, lambda unit: unit)

    def gone() -> int:
        archive = Archive(keeper.archive)
        return len(list(evict.evict(keeper.store, archive, steps, LATER, lambda repo, cwd: None)))

    with keeper.store.transaction():
        keeper.store.retention.pin(ALPHA, 0)
    assert gone() == 0
    with keeper.store.transaction():
        keeper.store.retention.unpin(ALPHA)
        keeper.store.db.execute("update sessions set revision = revision + 1", {})
    analyzed(keeper.store)
    assert gone() == 0
    with keeper.store.transaction():
        keeper.store.db.execute("update sessions set revision = revision - 1", {})
        keeper.store.db.execute("update sessions set analyzed_revision = 0", {})
    assert gone() == 0
    analyzed(keeper.store)
    assert gone() == 1
    assert gone() == 0, "it is evicted already"


def test_a_dry_run_says_how_much_would_be_left(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    analyzed(keeper.store, ALPHA)
    used = keeper.store.retention.used_bytes()
    foreseen = keeper.retain(dry_run=True).report
    assert 0 < foreseen.bytes_freed < used
    assert foreseen.final_usage_bytes == used - foreseen.bytes_freed
    assert keeper.retain().report == foreseen


def test_a_dry_run_assumes_that_an_analysis_succeeds(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.limits.raw_max_age_days = 10_000
    assert keeper.retain(dry_run=True).gone == []
    keeper.limits.raw_hard_cap_bytes = 1
    (eviction,) = keeper.retain(dry_run=True).gone
    assert (eviction.sessions, eviction.why) == ((ALPHA,), HARD_CAP)


def test_nothing_goes_when_exactly_the_cap_is_used(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    analyzed(keeper.store)
    keeper.limits.raw_max_age_days = 10_000
    used = keeper.store.retention.used_bytes()
    keeper.limits.raw_soft_cap_bytes = keeper.limits.raw_hard_cap_bytes = used
    outcome = keeper.retain()
    assert outcome.gone == []
    assert not outcome.report.over_hard_cap
    keeper.limits.raw_soft_cap_bytes = used - 1
    assert [eviction.why for eviction in keeper.retain().gone] == [SOFT_CAP]


def test_a_unit_is_as_old_as_its_last_event(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    talk(keeper.claude.subagent(log, "a1"), "three")
    keeper.collect()
    ended = {uid: keeper.store.sessions.row(uid).ended_at for uid in keeper.store.sessions.uids()}  # type: ignore[union-attr]
    assert [(unit.uids, unit.last_at) for unit in units(keeper.store, LATER)] == [
        ((BETA,), ended[BETA]),
        ((ALPHA, "claude:alpha:a1"), ended["claude:alpha:a1"]),
    ]


def test_relatives_of_a_session_that_is_named_twice_are_found_once(keeper: Keeper) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.subagent(log, "a1"), "two")
    talk(keeper.claude.session("beta"), "three")
    keeper.collect()
    selected = with_relatives(keeper.store, [ALPHA, ALPHA, BETA])
    assert selected == [ALPHA, BETA, "claude:alpha:a1"]


def test_the_plan_names_an_archive_file_that_is_missing(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    (file,) = Archive(keeper.archive).files()
    missing = f"{file.name}: an archive file that is missing"
    plan_before = plan_of(keeper.store, keeper.config, [ALPHA])
    assert plan_before.archives == [file.name]
    assert missing not in plan_before.unreachable
    file.unlink()
    assert missing in plan_of(keeper.store, keeper.config, [ALPHA]).unreachable


def test_forgetting_a_collected_session_leaves_the_live_one_with_the_same_id(
    keeper: Keeper,
) -> None:
    with SessionStore.open(keeper.place) as live:
        live.append_message(live.create_session(session_id="alpha"), role="user", content="live")
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    assert keeper.store.sessions.uids() == ["live:alpha"]
    with SessionStore.open(keeper.place) as live:
        assert [message.content for message in live.load_all_messages("alpha")] == ["live"]


@pytest.mark.only("sqlite")
def test_the_plan_names_copies_from_before_an_update(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    copy = Path(f"{keeper.place}.before-step-7-1234")
    copy.write_bytes(b"")
    unreachable = plan_of(keeper.store, keeper.config, [ALPHA]).unreachable
    assert [line for line in unreachable if line.startswith(str(copy))]


# ---------------------------------------------------------------- an import after forgetting


def test_an_import_leaves_out_the_log_of_a_forgotten_session(
    keeper: Keeper, tmp_path: Path
) -> None:
    """Both the log that was here and the same session's log of another machine."""
    talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    export_store(keeper.store, tmp_path / "here")
    home = ClaudeHome(tmp_path / "another home")
    talk(home.session("gamma"), "three")
    with new_store() as elsewhere:
        collect(elsewhere, keeper.claude.path, host="there")
        collect(elsewhere, home.write(), host="there")
        export_store(elsewhere, tmp_path / "there", [ALPHA, "claude:gamma"])
    forget(keeper.store, keeper.config, [ALPHA], LATER)
    paths = [row.path for row in keeper.store.sources.every()]
    assert len(paths) == 1
    done = import_store(keeper.store, tmp_path / "here", keeper.config)
    assert (done.sources, done.known, done.bytes) == (2, 2, 0)
    done = import_store(keeper.store, tmp_path / "there", keeper.config)
    assert (done.sources, done.known, done.sessions) == (2, 1, 1)
    assert keeper.store.sessions.uids() == [BETA, "claude:gamma"]
    paths.append(str(home.path / home.logs[0].place))
    assert [row.path for row in keeper.store.sources.every()] == paths


def test_an_import_blanks_a_forgotten_session_in_a_log_of_others(
    keeper: Keeper, tmp_path: Path
) -> None:
    talk(keeper.claude.session("beta"), "forget this")
    keeper.collect()
    forget(keeper.store, keeper.config, [BETA], LATER)
    home = ClaudeHome(tmp_path / "another home")
    log = talk(home.session("alpha"), "mine")
    other = json.loads(log.lines[0]) | {"sessionId": "beta", "uuid": "other-1"}
    log.raw(line_of(other))
    with new_store() as elsewhere:
        collect(elsewhere, home.write(), host="there")
        export_store(elsewhere, tmp_path / "there")
    import_store(keeper.store, tmp_path / "there", keeper.config)
    assert keeper.store.sessions.uids() == [ALPHA]
    assert [event.summary for event in events_of(keeper.store, ALPHA)] == ["mine", "mine!"]
    (source,) = keeper.store.sources.every()
    assert b"other-1" not in b"".join(keeper.store.raw.pieces(source.id))
    check_sound(keeper.store)


def test_an_import_of_more_of_an_evicted_log_brings_the_session_back(
    keeper: Keeper, tmp_path: Path
) -> None:
    log = talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    keeper.evict(ALPHA)
    talk(log, "two")
    with new_store() as elsewhere:
        collect(elsewhere, keeper.claude.write(), host="here")
        export_store(elsewhere, tmp_path / "longer")
        import_store(keeper.store, tmp_path / "longer", keeper.config)
        assert evicted(keeper) == []
        check_same(contents(elsewhere), contents(keeper.store))
    check_sound(keeper.store)
