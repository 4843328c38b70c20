"""The lake: the same figures as the store, incremental, and closed to everything else."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from keeping import Keeper, talk
from late import Late

from session_memory.core.errors import LakeError
from session_memory.core.schema import Session, SessionEvent, Usage
from session_memory.retain.lake import LakeExport, export
from session_memory.retain.lake_files import COLUMNS, SESSION_FIELDS_LEFT_OUT
from session_memory.retain.lake_query import ask
from session_memory.testing.claude import Clock
from session_memory.testing.collecting import events_of, every_usage

parquet = Late("pyarrow.parquet")

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

ALPHA, BETA = "claude:alpha", "claude:beta"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def asked(lake: Path, question: str) -> list[tuple[Any, ...]]:
    with ask(lake, question) as answer:
        return list(answer.rows)


def filled(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), "one", "two")
    talk(keeper.claude.session("beta"), "three")
    keeper.collect()


def exported(keeper: Keeper, lake: Path) -> LakeExport:
    return export(keeper.store, lake)


# Fields of the records that the lake does not have. The flavor is in the path of the files.
LEFT_OUT = {
    "sessions": SESSION_FIELDS_LEFT_OUT,
    "events": {"native_id"},
    "usage": {"cache_tokens", "reported", "reported_cost"},
}


@pytest.mark.parametrize(
    ("dataset", "record"), [("sessions", Session), ("events", SessionEvent), ("usage", Usage)]
)
def test_every_field_is_a_column_or_is_left_out_on_purpose(dataset: str, record: type) -> None:
    missing = {field.name for field in fields(record)} - COLUMNS[dataset].keys()
    added, gone = missing - LEFT_OUT[dataset], LEFT_OUT[dataset] - missing
    assert not added, f"add to _KINDS in retain/lake_files.py, or to LEFT_OUT: {added}"
    assert not gone, f"these are columns now, so delete them from LEFT_OUT: {gone}"


def test_it_holds_what_the_store_holds(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    exported(keeper, lake)
    used = every_usage(keeper.store)
    total = sum(usage.cost.output_tokens for usage in used)
    assert asked(lake, "select count(*), sum(output_tokens) from usage") == [(len(used), total)]
    events = events_of(keeper.store, ALPHA)
    rows = asked(
        lake,
        "select event_uid, seq, kind, summary, marks, epoch_ms(ts) from events"
        f" where session_uid = '{ALPHA}' order by seq",
    )
    assert [(row[0], row[1], row[2], row[3], tuple(row[4])) for row in rows] == [
        (event.event_uid, event.seq, event.kind, event.summary, event.marks) for event in events
    ]
    assert asked(lake, "select distinct flavor, month from sessions") == [("claude", "2026-07")]


def test_what_did_not_change_is_not_written_again(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    first = exported(keeper, lake)
    assert (first.sessions, first.partitions) == (2, 1)
    before = {file: file.stat().st_mtime_ns for file in lake.rglob("*.parquet")}
    assert exported(keeper, lake).unchanged == 2
    assert {file: file.stat().st_mtime_ns for file in lake.rglob("*.parquet")} == before
    talk(keeper.claude.logs[0], "four")
    keeper.collect()
    again = exported(keeper, lake)
    assert (again.sessions, again.unchanged) == (1, 1)
    assert asked(lake, "select count(*) from events") == [(8,)]
    assert asked(lake, "select count(distinct (session_uid, seq)) from events") == [(8,)]


def test_columns_that_an_older_release_did_not_write_are_empty_until_the_next_export(
    keeper: Keeper, lake: Path
) -> None:
    filled(keeper)
    with pytest.MonkeyPatch.context() as older:
        older.delitem(COLUMNS["sessions"], "model")
        older.delitem(COLUMNS["events"], "kind")
        exported(keeper, lake)
    models = "select count(*), count(model) from sessions"
    kinds = "select count(*), count(kind) from events"
    assert (asked(lake, models), asked(lake, kinds)) == ([(2, 0)], [(6, 0)])
    talk(keeper.claude.logs[0], "four")
    keeper.collect()
    assert exported(keeper, lake).sessions == 2
    assert (asked(lake, models), asked(lake, kinds)) == ([(2, 2)], [(8, 6)])


def test_a_session_lies_whole_in_the_month_it_began_in(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    log = keeper.claude.session("gamma")
    log.clock = Clock("2026-08-30T23:59:00.000Z")
    talk(log, "august")
    log.clock.tick(3 * 86_400_000)
    talk(log, "september")
    keeper.collect()
    exported(keeper, lake)
    months = asked(lake, "select month, count(*) from events group by 1 order by 1")
    assert months == [("2026-07", 6), ("2026-08", 4)]
    names = {str(file.relative_to(lake)) for file in lake.rglob("*.parquet")}
    assert "events/flavor=claude/month=2026-08/data.parquet" in names


def test_events_stay_when_their_session_is_evicted(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    exported(keeper, lake)
    keeper.evict(ALPHA)
    result = exported(keeper, lake)
    assert result.without_events == 0
    count = f"select count(*) from events where session_uid = '{ALPHA}'"
    assert asked(lake, count) == [(4,)]
    when = f"select evicted_at is not null from sessions where session_uid = '{ALPHA}'"
    assert asked(lake, when) == [(True,)]


def test_an_evicted_session_that_repeated_an_id_hides_no_event(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    stolen = json.loads(keeper.claude.logs[1].lines[0])
    thief = keeper.claude.session("thief")
    words = {"role": "user", "content": "other words"}
    thief.add({**stolen, "message": words, "sessionId": "thief"})
    keeper.collect()
    exported(keeper, lake)
    before = asked(lake, "select session_uid, event_uid, summary from events order by all")
    keeper.evict(thief.uid)
    exported(keeper, lake)
    assert asked(lake, "select session_uid, event_uid, summary from events order by all") == before


def test_what_was_evicted_before_comes_with_its_usage_and_without_its_events(
    keeper: Keeper, lake: Path
) -> None:
    filled(keeper)
    keeper.evict(ALPHA)
    assert exported(keeper, lake).without_events == 1
    assert asked(lake, "select sum(output_tokens) from usage") == [(30,)]
    assert asked(lake, "select distinct session_uid from events") == [(BETA,)]


def test_other_engines_read_the_same_files(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    exported(keeper, lake)
    table = parquet.read_table(lake / "usage", partitioning="hive")
    assert sum(table.column("output_tokens").to_pylist()) == 30
    assert set(table.column("flavor").to_pylist()) == {"claude"}
    for file in lake.rglob("*.parquet"):
        assert file.stat().st_mode & 0o777 == 0o600


REFUSED = [
    "copy (select 1) to '{place}'",
    "select * from read_csv('{place}')",
    "select * from read_text('{place}')",
    "select * from '{place}'",
    "select 1; select 2",
    "attach '{place}'",
    "set enable_external_access = true",
    "install httpfs",
    "select * from read_csv('https://example.org/x.csv')",
    "explain analyze copy (select 1) to '{place}'",
    "create table x as select 1",
    "selec 1",
]


def test_only_the_lake_is_asked_and_nothing_is_changed(
    keeper: Keeper, lake: Path, tmp_path: Path
) -> None:
    filled(keeper)
    exported(keeper, lake)
    place = tmp_path / "outside.csv"
    place.write_text("a,b\n1,2\n")
    for question in REFUSED:
        with pytest.raises(LakeError):
            asked(lake, question.replace("{place}", str(place)))
            pytest.fail(f"not refused: {question}")
        assert place.read_text() == "a,b\n1,2\n", question
        files = {file.name for file in lake.rglob("*") if file.is_file()}
        assert files == {"data.parquet"}, question


def test_memory_is_bounded(keeper: Keeper, lake: Path) -> None:
    filled(keeper)
    exported(keeper, lake)
    question = "select a.range, b.range from range(100000) a, range(100000) b order by random()"
    with ask(lake, question, memory="50MB") as answer, pytest.raises(LakeError):
        next(answer.rows)


def test_an_empty_lake_answers_with_nothing(tmp_path: Path) -> None:
    assert asked(tmp_path / "none", "select count(*), sum(tokens) from events") == [(0, None)]


def test_events_that_fall_to_a_fork_are_in_it_once(keeper: Keeper, lake: Path) -> None:
    log = talk(keeper.claude.session("alpha"), "one", "two", "three")
    talk(keeper.claude.fork(log, "forked"), "own")
    keeper.collect()
    question = "select count(*), count(distinct event_uid), sum(tokens) from events"
    exported(keeper, lake)
    before = asked(lake, question)
    keeper.evict(ALPHA)
    exported(keeper, lake)
    assert asked(lake, question) == before
    keeper.restore()
    exported(keeper, lake)
    assert asked(lake, question) == before


def test_what_was_away_when_it_was_first_exported_comes_when_it_is_back(
    keeper: Keeper, lake: Path
) -> None:
    filled(keeper)
    keeper.evict(ALPHA)
    assert exported(keeper, lake).without_events == 1
    keeper.restore()
    exported(keeper, lake)
    ((count,),) = asked(lake, f"select count(*) from events where session_uid = '{ALPHA}'")
    assert count == len(events_of(keeper.store, ALPHA)) > 0
