"""Logs and calls of the older skill log go on here. Each test names its row of the comparison."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from session_memory.config import Config
from session_memory.core.errors import InvalidRecord, InvalidTime, UnsafePath
from session_memory.core.schema import Attempt, Entry
from session_memory.learn.train.examples import entries
from session_memory.live.skill_log import SkillLog
from session_memory.live.skill_rates import pass_rate, pass_rates, route
from session_memory.retain.forget import forget
from session_memory.store import Store
from session_memory.testing.collecting import check_sound, collect, new_store, rebuilt
from session_memory.views.lookup import find_session
from session_memory.views.skills import list_skills

pytestmark = [pytest.mark.usefixtures("on_the_database"), pytest.mark.only("sqlite")]

TIME = "2026-07-01T10:00:00.123456789+02:00"


@pytest.fixture
def log(tmp_path: Path) -> SkillLog:
    return SkillLog(tmp_path / "home" / ".session-memory" / "skills")


@pytest.fixture
def store(stores: object) -> Any:
    with new_store() as made:
        yield made


def older_log(log: SkillLog, session: str, *ids: str) -> Path:
    """A log as its older program wrote it, one line for each id."""
    path = log.directory / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    for written in ids:
        entry = {"session_id": written, "timestamp": TIME, "skill": "review"}
        with path.open("a") as file:
            file.write(json.dumps({**entry, "final_status": "pass"}, separators=(",", ":")) + "\n")
    return path


def lines(log: SkillLog, session: str = "s1") -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.path_of(session).read_text().splitlines()]


# ---------------------------------------------------------------- what a line holds


def test_a_line_leaves_out_empty_optional_fields(log: SkillLog) -> None:  # SWITCHING 1.17
    log.append(Entry("s1", TIME, skill="review", final_status="skip"))
    log.append(Entry("s1", TIME, attempts=(Attempt(1, "small"),)))
    first, second = lines(log)
    assert list(first) == ["session_id", "timestamp", "skill", "final_status"]
    assert second["attempts"] == [{"attempt": 1, "model": "small", "verified": False}]
    assert [entry.attempts for entry in log.read("s1")] == [(), (Attempt(1, "small"),)]


@pytest.mark.parametrize("given", ["", [], {}, 0, False])
def test_an_input_that_was_given_is_written(log: SkillLog, given: Any) -> None:  # SWITCHING 1.17
    log.append(Entry("s1", TIME, input=given))
    assert lines(log)[0]["input"] == given
    assert log.read("s1")[0].input == given


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (datetime(2026, 7, 1, 10, tzinfo=UTC), "2026-07-01T10:00:00+00:00"),
        (
            datetime(2026, 7, 1, 10, 0, 0, 123456, timezone(timedelta(hours=5, minutes=30))),
            "2026-07-01T10:00:00.123456+05:30",
        ),
        (
            datetime(1880, 1, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=28))),
            "1880-01-01T00:06:32+00:00",
        ),
    ],
)
def test_a_datetime_is_a_timestamp(log: SkillLog, given: datetime, written: str) -> None:
    # SWITCHING 1.19
    log.append(Entry("s1", given))
    log.append({"session_id": "s1", "timestamp": given})
    assert [line["timestamp"] for line in lines(log)] == [written, written]


def test_a_datetime_without_a_zone_is_local_time(log: SkillLog) -> None:  # SWITCHING 1.19
    naive = datetime.fromisoformat("2026-07-01T10:00:00")
    log.append(Entry("s1", naive))
    assert datetime.fromisoformat(lines(log)[0]["timestamp"]) == naive.astimezone()


def test_an_entry_without_a_timestamp_gets_the_present_time(log: SkillLog) -> None:
    # SWITCHING 1.19
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    log.append(Entry("s1", skill="review"))
    log.append({"session_id": "s1", "skill": "review"})
    for line in lines(log):
        assert before <= datetime.fromisoformat(line["timestamp"]) <= datetime.now(UTC)


def test_a_time_is_not_made_up_when_a_line_is_read(log: SkillLog) -> None:
    log.append(Entry("s1", TIME))
    with log.path_of("s1").open("a") as file:
        file.write('{"session_id":"s1","skill":"review"}\n')
    found = log.read("s1")
    assert (len(found), [problem.reason for problem in found.problems]) == (
        1,
        ["timestamp is missing"],
    )
    with pytest.raises(InvalidTime):
        Entry("s1", date(2026, 7, 1))  # type: ignore[arg-type]


# ---------------------------------------------------------------- ids


ODD = ["my session", "feat/x", "a/b/c d", "über", "x" * 50 + "/" + "y" * 50]


@pytest.mark.parametrize("session", ODD)
def test_odd_ids_of_older_logs_go_on(store: Store, log: SkillLog, session: str) -> None:
    # SWITCHING 1.36
    path = older_log(log, session, session)
    assert log.sessions() == [session]
    log.append(Entry(session, TIME, skill="review", final_status="fail"))
    assert log.path_of(session) == path
    assert [entry.session_id for entry in log.read(session)] == [session] * 2
    assert log.read(session).problems == []
    collect(store, log.directory)
    rate = pass_rate(store, "review")
    assert (rate.passed, rate.failed) == (1, 1)
    (problem,) = store.problems.every()
    assert problem.reason == "unusable session id" and session in problem.detail
    (uid,) = store.sessions.uids()
    assert find_session(store, session) == find_session(store, f"skill:{session}") == uid
    check_sound(store)


def test_an_id_with_a_slash_is_another_session_than_its_last_part(
    store: Store, log: SkillLog
) -> None:  # SWITCHING 1.36
    older_log(log, "feat/x", "feat/x", "", "x")
    older_log(log, "x", "x", "feat/x")
    collect(store, log.directory)
    assert [problem.detail for problem in store.problems.every() if problem.length] == ["feat/x"]
    uids = [session.session_uid for session in store.sessions.every()]
    assert len(uids) == 2 and uids[0] == "skill:x"
    assert pass_rate(store, "review").passed == 4
    assert pass_rate(rebuilt(store), "review").passed == 4


def test_a_log_in_a_folder_may_have_an_id_without_it(store: Store, log: SkillLog) -> None:
    older_log(log, "archive/old", "old")
    collect(store, log.directory)
    assert [session.session_uid for session in store.sessions.every()] == ["skill:old"]
    collect(store, log.directory / "archive")
    assert pass_rate(store, "review").passed == 1


def test_the_folder_of_an_id_may_be_the_root_that_is_collected(store: Store, log: SkillLog) -> None:
    older_log(log, "feat/x", "feat/x")
    collect(store, log.directory / "feat" / "x.jsonl")
    assert pass_rate(store, "review").passed == 1


def test_the_folder_of_an_id_is_private_and_no_link(log: SkillLog, tmp_path: Path) -> None:
    log.append(Entry("feat/x", TIME))
    assert (log.directory / "feat").stat().st_mode & 0o777 == 0o700
    assert log.path_of("feat/x").stat().st_mode & 0o777 == 0o600
    (tmp_path / "outside").mkdir()
    (log.directory / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafePath, match="is a link"):
        log.append(Entry("link/x", TIME))
    with pytest.raises(UnsafePath, match="is a link"):
        log.read("link/x")
    assert list((tmp_path / "outside").iterdir()) == []
    assert log.sessions() == ["feat/x"]


# ---------------------------------------------------------------- entries without a session


def test_an_entry_without_a_session_id_is_of_the_session_of_its_file(
    store: Store, log: SkillLog
) -> None:  # SWITCHING 1.37
    path = older_log(log, "s1", "", "s1")
    with path.open("a") as file:
        file.write(json.dumps({"timestamp": TIME, "skill": "review", "final_status": "ok"}) + "\n")
    found = log.read("s1")
    assert ([entry.session_id for entry in found], found.problems) == (["s1"] * 3, [])
    collect(store, log.directory)
    assert pass_rate(store, "review").passed == 3
    assert store.problems.count() == 0


@pytest.mark.parametrize("session", ["s1", "feat/x"])
def test_training_data_has_the_entries_of_a_session_and_no_others(
    store: Store, log: SkillLog, session: str
) -> None:  # SWITCHING 1.36, 1.37
    older_log(log, session, session, "", "another")
    collect(store, log.directory)
    found = store.sessions.get(find_session(store, session))
    assert found is not None
    assert len(list(entries(store, found))) == 2


def test_append_takes_the_session_apart_from_the_entry(log: SkillLog) -> None:  # SWITCHING 1.37
    for given in ({"skill": "a"}, {"session_id": "", "skill": "a"}, {"session_id": "s1"}):
        log.append(given, "s1")
    log.append(Entry("s1", TIME), session_id="s1")
    assert [line["session_id"] for line in lines(log)] == ["s1"] * 4
    for other in ({"session_id": "s2"}, Entry("s2", TIME)):
        with pytest.raises(InvalidRecord, match="'s2', not 's1'"):
            log.append(other, "s1")
    with pytest.raises(InvalidRecord, match="session_id is missing"):
        log.append({"skill": "a"})
    assert log.sessions() == ["s1"]


# ---------------------------------------------------------------- rates of one model


@pytest.mark.only("sqlite", "postgresql")
def test_a_model_is_judged_by_its_own_tries(store: Store, log: SkillLog) -> None:  # SWITCHING 1.54
    small, big = Attempt(1, "small"), Attempt(2, "big", verified=True)
    for number in range(36):
        tries = (Attempt(1, "small", verified=True),) if number < 10 else (small, big)
        log.append(Entry("s1", TIME, skill="sum", attempts=tries, final_status="pass"))
    collect(store, log.directory)
    rate = pass_rate(store, "sum", model="small")
    assert (rate.passed, rate.failed, rate.pass_rate) == (10, 0, 1.0), "the calls that it ended"
    assert (rate.verified, rate.attempts, rate.try_rate) == (10, 36, 10 / 36), "its tries"
    assert (rate.evidence, rate.advice) == (36, "thinking")
    other = pass_rate(store, "sum", model="big")
    assert (other.passed, other.verified, other.attempts, other.advice) == (26, 26, 26, "fast")
    assert pass_rate(store, "sum").evidence == 36
    (row,) = list_skills(store, model="small").to_dict()["skills"]
    assert (row["model"], row["try_rate"], row["advice"]) == ("small", 10 / 36, "thinking")
    assert [model["advice"] for model in row["models"]] == ["thinking"]


def test_tries_that_nothing_was_run_for_count_by_their_calls(store: Store, log: SkillLog) -> None:
    for status in ("pass",) * 9 + ("fail",):
        log.append(Entry("s1", TIME, skill="sum", attempts=(Attempt(1, "m"),), final_status=status))
    rate = pass_rate(store, "sum", model="m", logs=[log])
    assert (rate.try_rate, rate.evidence, rate.advice) == (0.0, 10, "fast")


# ---------------------------------------------------------------- before a sync


@pytest.fixture
def usual(log: SkillLog, monkeypatch: pytest.MonkeyPatch) -> SkillLog:
    """The log of this home, where a sync looks."""
    monkeypatch.setenv("HOME", str(log.directory.parent.parent))
    monkeypatch.delenv("SESSION_MEMORY_CONFIG", raising=False)
    return log


def passed(log: SkillLog, times: int = 1, session: str = "s1", **more: Any) -> None:
    for _ in range(times):
        log.append(Entry(session, **{"skill": "sum", "final_status": "pass", **more}))


@pytest.mark.only("sqlite", "postgresql")
def test_route_knows_an_entry_the_moment_it_is_appended(store: Store, usual: SkillLog) -> None:
    assert route(store, "sum") == "sample"
    passed(usual, 4)
    assert (route(store, "sum"), pass_rate(store, "sum").passed) == ("sample", 4)
    passed(usual)
    assert route(store, "sum") == "fast"
    for number in range(1, 6):
        collect(store, usual.directory)
        passed(usual, final_status="fail")
        rate = pass_rate(store, "sum", "1h")
        assert (rate.passed, rate.failed) == (5, number), "each entry once"
    assert route(store, "sum") == "thinking"
    assert pass_rate(store, "sum", logs=[]).failed == 4, "the store alone"


def test_an_entry_counts_before_a_sync_as_it_counts_after(store: Store, usual: SkillLog) -> None:
    tries = (Attempt(1, "small"), Attempt(2, "big", verified=True), Attempt(3))
    for number, status in enumerate(("pass", " OK ", "Fail", "skip", "later", "")):
        for session in ("s1", "feat/x"):
            passed(usual, session=session, final_status=status, attempts=tries[:number])
    passed(usual, skill="", model_used="used", attempts=tries)
    passed(usual, skill="x" * 500, timestamp="2020-01-01T00:00:00Z")
    passed(usual, skill="", final_status="", message="no call")
    windows = ("all", "7d")
    before = [pass_rates(store, window) for window in windows]
    collect(store, usual.directory)
    assert [pass_rates(store, window) for window in windows] == before
    assert [pass_rates(store, window, logs=[]) for window in windows] == before


def test_a_torn_or_foreign_line_and_a_link_cost_themselves_alone(
    store: Store, usual: SkillLog
) -> None:
    passed(usual)
    with usual.path_of("s1").open("a") as file:
        file.write('{"session_id":"other","timestamp":"2026-07-01T10:00:00Z","skill":"sum"}\n{"to')
    (usual.directory / "link.jsonl").symlink_to(usual.path_of("s1"))
    usual.path_of("closed").write_text("{}\n")
    usual.path_of("closed").chmod(0)
    assert pass_rate(store, "sum").total == 1


def test_a_copy_a_second_name_and_a_forgotten_session_count_nothing(
    store: Store, usual: SkillLog, tmp_path: Path
) -> None:
    passed(usual, 3)
    collect(store, usual.directory)
    second = tmp_path / "second"
    second.symlink_to(usual.directory)
    same = SkillLog(usual.directory / ".." / "skills")
    assert pass_rate(store, "sum", logs=[usual, SkillLog(second), same]).passed == 3
    assert pass_rate(store, "sum", logs=[same]).passed == 3
    forget(store, Config(), ["skill:s1"], now=1)
    assert pass_rate(store, "sum").passed == 0


def test_the_configuration_says_where_logs_are(
    store: Store, usual: SkillLog, tmp_path: Path
) -> None:
    team = SkillLog(tmp_path / "team")
    passed(team, 2)
    passed(usual)
    config = usual.directory.parent / "config.toml"
    config.write_text(f'[sources.skill]\nroots = ["{team.directory}"]\n')
    assert pass_rate(store, "sum").passed == 2
    config.write_text("[sources.skill]\nenabled = false\n")
    assert pass_rate(store, "sum").passed == 0
