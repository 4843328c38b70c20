"""A watch does the whole loop without a command: it collects, analyzes, retains, looks back."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hostile.logs import append, log, rounds, user, uuid

import session_memory.memory.upkeep
from session_memory.collect.watch_events import Idle, Stopped, Synced, WatchError
from session_memory.core.errors import StoreError
from session_memory.core.time import now_ms
from session_memory.memory import Memory as OpenMemory
from session_memory.memory.upkeep import Upkeep
from session_memory.memory.weekly_retro import last_week, write_weekly_retro
from session_memory.retain.archive_check import check_archive
from session_memory.retain.restore import restore
from session_memory.testing.collecting import check_sound

from .conftest import Memory
from .watching import Watching, until

Watch = Callable[..., Watching]
NAMES = ("one", "two", "three")
EVERYTHING = ("--analyze", "--analyze-every", "0.1")
DAY_MS = 86_400_000
CAPS = "[retention]\nafter_sync = true\nraw_soft_cap_bytes = 0\narchive_small = true\n"


def logs_of(memory: Memory, count: int = 1) -> list[Path]:
    return [log(memory.root, uuid(name), rounds(uuid(name), count)) for name in NAMES]


def all_analyzed(said: dict[str, Any]) -> bool:
    return said["event"] == "analyzed" and said["waiting"] == 0


def a_day_passes(memory: Memory) -> None:
    """Everything that the store did was a day earlier."""
    with memory.opened() as store, store.transaction():
        store.db.execute(f"update sources set discovered_at = discovered_at - {DAY_MS}")
        store.db.execute(f"update retention_runs set ran_at = ran_at - {DAY_MS}")


def evicted(memory: Memory) -> int:
    with memory.opened() as store:
        return store.retention.count_evicted()


def test_a_backlog_is_analyzed_at_once(memory: Memory, watch: Watch) -> None:
    # SWITCHING 0.68: nothing new is written while the watch runs.
    logs_of(memory)
    watch().stop()
    with memory.opened() as store:
        assert not any(session.analyzed_at for session in store.sessions.every())
    following = watch("--analyze")
    assert following.until(all_analyzed)["sessions"] == len(NAMES)
    with memory.opened() as store:
        sessions = list(store.sessions.every())
        assert [one.analyzed_revision for one in sessions] == [one.revision for one in sessions]


def test_a_service_collects_analyzes_and_archives_once_caps_are_set(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    # SWITCHING 0.66, 0.67: the words are those of the installed service.
    paths = logs_of(memory)
    archive, config = tmp_path / "archive", tmp_path / "config.toml"
    before = config.read_text()
    config.write_text(before + "[retention]\nafter_sync = false\n")
    following = watch(*EVERYTHING)
    following.until(all_analyzed)
    heard = len(following.said)
    append(paths[0], [user(uuid("one"), 8, "is anybody there?")])
    following.until(all_analyzed, since=heard)
    a_day_passes(memory)
    append(paths[1], [user(uuid("two"), 8, "and now?")])
    until(lambda: len(following.said) > heard + 3 and all_analyzed(following.said[-1]), "analysis")
    assert evicted(memory) == 0

    config.write_text(before + CAPS + f'archive_dir = "{archive}"\n')
    append(paths[2], [user(uuid("three"), 8, "the last word")])
    ran = following.until(lambda said: said["event"] == "retained")
    report = ran["report"]
    assert report["backstop_evicted"] + report["budget_evicted"] == len(NAMES)
    assert ran["archive"] == str(archive)
    assert [said for said in following.stop() if said["event"] == "error"] == []
    # The last line may have come after the eviction, and brought its session back.
    assert evicted(memory) >= 2


def test_a_service_can_be_killed_and_started_again_anywhere(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    paths = logs_of(memory)
    config, archive = tmp_path / "config.toml", tmp_path / "archive"
    watch(*EVERYTHING).kill()
    config.write_text(config.read_text() + CAPS + f'archive_dir = "{archive}"\n')
    for number, last in enumerate(("synced", "session", "analyzed", "retained")):
        a_day_passes(memory)
        following = watch(*EVERYTHING, caught_up=False)
        for name, path in zip(NAMES, paths, strict=True):
            append(path, [user(uuid(name), 8 + number, f"{name} {number}")])
        following.until(lambda said, last=last: said["event"] == last)
        following.kill()
    a_day_passes(memory)
    following = watch(*EVERYTHING)
    until(lambda: evicted(memory) == len(NAMES), "that all sessions are archived")
    assert [said for said in following.stop() if said["event"] == "error"] == []
    opened = OpenMemory(memory.place, config)
    with opened:
        check_sound(opened.store)
        assert check_archive(opened.store, opened.config).findings == []
        restore(opened.store, opened.config, None, now_ms())
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_a_backlog_is_analyzed_a_little_at_a_time(
    memory: Memory, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs_of(memory)
    watch().stop()
    monkeypatch.setattr(session_memory.memory.upkeep, "SLICE_S", 0.0)
    upkeep = Upkeep(lambda: OpenMemory(memory.place), analyze=True)
    done = [said.to_dict() for _ in range(5) for said in upkeep.after(Idle(at=1))]
    assert [(said["sessions"], said["waiting"]) for said in done] == [(1, 2), (1, 1), (1, 0)]


@pytest.mark.only("sqlite")
def test_a_watch_that_is_asked_to_stop_leaves_the_rest_of_the_backlog(
    memory: Memory, watch: Watch
) -> None:
    logs_of(memory)
    watch().stop()
    asked = iter((False, True))
    upkeep = Upkeep(
        lambda: OpenMemory(memory.place), analyze=True, is_stopping=lambda: next(asked, True)
    )
    (said,) = upkeep.after(Idle(at=1))
    assert said.to_dict()["waiting"] == 2
    assert list(upkeep.after(Idle(at=2))) == []
    (said,) = upkeep.after(Stopped(at=3))
    assert said.to_dict()["waiting"] == 0


def synced(sessions: int = 1) -> Synced:
    return Synced(
        at=1,
        whole=False,
        sources=1,
        sessions=sessions,
        events=1,
        bytes=1,
        problems=0,
        vanished=0,
        seconds=0,
    )


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("the disk is gone", "Put it back."), "the disk is gone"),
        (ZeroDivisionError("division by zero"), "division by zero"),
    ],
)
def test_work_that_fails_is_reported_and_tried_again_and_the_watch_goes_on(
    error: Exception, said: str
) -> None:
    def broken() -> Any:
        raise error

    upkeep = Upkeep(broken, analyze=True)
    (trouble,) = upkeep.after(Idle(at=1))
    assert isinstance(trouble, WatchError)
    assert said in trouble.message and trouble.retry_in == 120
    assert list(upkeep.after(synced())) == []
    assert list(upkeep.after(Idle(at=3))) == []  # Not again at once,
    (trouble,) = upkeep.after(Stopped(at=4))  # but before the end.
    assert isinstance(trouble, WatchError) and trouble.retry_in == 240


@pytest.mark.only("sqlite")
def test_a_directory_that_cannot_be_written_to_costs_the_retrospective_alone(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    day = (last_week(datetime.now().astimezone()).since + timedelta(days=3)).isoformat()
    records = [{**record, "timestamp": day} for record in rounds(uuid("one"), 1)]
    log(memory.root, uuid("one"), records)
    (tmp_path / "file").touch()
    following = watch("--retro", str(tmp_path / "file" / "retros"))
    trouble = following.until(lambda said: said["event"] == "error")
    assert "file" in trouble["message"]
    assert [said["sessions"] for said in following.stop() if said["event"] == "analyzed"] == [1]


@pytest.mark.only("sqlite")
def test_nothing_is_tried_while_the_store_is_lost() -> None:
    def never() -> Any:
        raise AssertionError

    upkeep = Upkeep(never, analyze=True)
    lost = WatchError(at=1, kind="store", message="gone", hint=None, retry_in=1.0)
    assert list(upkeep.after(lost)) == []
    assert list(upkeep.after(Idle(at=2))) == []


# ---------------------------------------------------------------- the retrospective of a week


def test_a_week_is_written_once_and_never_overwritten(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    # SWITCHING 0.102
    logs_of(memory)
    watch("--analyze").until(all_analyzed)
    place = tmp_path / "notes" / "retros"
    with OpenMemory(memory.place) as opened:
        (ended, *_) = [one.ended_at for one in opened.store.sessions.every() if one.ended_at]
        later = datetime.fromisoformat(ended) + timedelta(days=7)
        written = write_weekly_retro(opened, place, later)
        assert written is not None
        assert written.path.name == f"retro-{written.week.name}.md"
        assert written.path.stat().st_mode & 0o777 == 0o600
        text = written.path.read_text()
        assert text.startswith(f"# Retrospective of week {written.week.name}, ")
        assert "## app" in text
        assert write_weekly_retro(opened, place, later) is None
        written.path.write_text("mine")
        assert write_weekly_retro(opened, place, later) is None
        assert written.path.read_text() == "mine"
        # Nobody worked in that week.
        assert write_weekly_retro(opened, place, later + timedelta(days=700)) is None
    assert [path.name for path in place.iterdir()] == [written.path.name]


@pytest.mark.only("sqlite")
def test_a_watch_writes_the_retrospective_of_last_week_by_itself(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    # SWITCHING 0.102
    day = (last_week(datetime.now().astimezone()).since + timedelta(days=3)).isoformat()
    records = [{**record, "timestamp": day} for record in rounds(uuid("one"), 1)]
    log(memory.root, uuid("one"), records)
    place = tmp_path / "retros"
    following = watch("--retro", str(place))
    written = following.until(lambda said: said["event"] == "retro")
    assert Path(written["path"]).read_text().startswith("# Retrospective of week ")
    following.stop()
    again = watch("--retro", str(place))
    assert not [said for said in again.stop() if said["event"] == "retro"]


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("zone", "now", "name", "hours"),
    [
        ("UTC", "2026-11-16T00:00:00", "2026-W46", 168),
        ("UTC", "2026-11-15T23:59:59", "2026-W45", 168),
        ("UTC", "2027-01-05T12:00:00", "2026-W53", 168),
        # The clocks go back in the night to Sunday, and forward in March.
        ("Europe/Berlin", "2026-10-28T12:00:00", "2026-W43", 169),
        ("Europe/Berlin", "2026-03-30T12:00:00", "2026-W13", 167),
    ],
)
def test_a_week_begins_on_monday_in_local_time(
    zone: str, now: str, name: str, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        week = last_week(datetime.fromisoformat(now).astimezone())
        assert week.name == name
        assert week.since.weekday() == week.until.weekday() == 0
        assert (week.until - week.since) == timedelta(hours=hours)
    finally:
        monkeypatch.undo()
        time.tzset()
