"""An adapter of another package that yields wrong values costs its own records or files at most.

A wrong record is a problem with its place, and the raw keeps its bytes. A wrong cursor is a failure
on the file, which the next sync reads again. Every other record, file and agent is collected.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import pytest
import toy
from click.testing import CliRunner, Result
from toy import ToyLog, answer, called, prompt, resulted

from session_memory.adapters import checked_reading, registry
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import (
    Base,
    ChildLink,
    Cursor,
    NativeEvent,
    NativeUsage,
    Readable,
    Record,
)
from session_memory.adapters.checked_reading import UNUSABLE_RECORD
from session_memory.adapters.claude import AGENT as claude
from session_memory.cli import main
from session_memory.derive.ingest import UNUSABLE_ID
from session_memory.derive.line_counts import IMPOSSIBLE_COUNT
from session_memory.retain.verification import verify
from session_memory.store import open_store
from session_memory.testing.agents import installed
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import check_sound, contents, events_of
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

TOY, OTHER_TOY, CLAUDE = "toy:one", "toy:two", "claude:main"
Change = Callable[[Cursor, Record], Any]
WRONG_LINE = 2


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which Claude Code has worked once and the toy twice."""
    place = tmp_path / "home"
    work = ClaudeHome(place)
    main_log = work.session("main")
    main_log.prompt("make it work")
    main_log.answer("done")
    work.write()
    for name in ("one", "two"):
        toy_log(place, name).write()
    monkeypatch.setenv("HOME", str(place))
    return place


def toy_log(place: Path, name: str) -> ToyLog:
    log = ToyLog(place / ".toy" / f"{name}.toy")
    log.add(prompt("please fix the build"))
    log.add(called("c1", "make test"))
    log.add(resulted("c1", "all is well"))
    log.add(answer("It is done."), usage={"usage_id": f"{name}-1", "model": "m1"})
    return log


def wrong(change: Change, line: int = WRONG_LINE, name: str = "one") -> Agent:
    """The toy, but what it yields for one line of one log goes through ``change``."""
    place = sum(map(len, toy_log(Path(), name).lines[:line]))
    return wrong_at({(name, place): change})


def wrong_at(changes: Mapping[tuple[str, int], Change]) -> Agent:
    """The toy, but what it yields at some places of some sessions goes through a change."""

    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        for found, record in toy.read(source, cursor):
            change = changes.get((source.ref.session, record.offset))
            yield change(found, record) if change else (found, record)

    return msgspec.structs.replace(toy.AGENT, read=read)


def setting(**values: Any) -> Change:
    """A change that sets fields of the record, after it was made: nothing checks them there."""

    def change(cursor: Cursor, record: Record) -> Any:
        for name, value in values.items():
            setattr(record, name, value)
        return cursor, record

    return change


def setting_event(**values: Any) -> Change:
    return lambda cursor, record: (
        cursor,
        msgspec.structs.replace(
            record, events=[msgspec.structs.replace(record.events[0], **values)]
        ),
    )


def run(where: str, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", where])


def json_of(where: str, *words: str) -> Any:
    done = run(where, *words, "--json")
    assert done.exit_code in (0, 3), (words, done.output, done.exception)
    return json.loads(done.stdout)


def problems(where: str) -> list[tuple[str, int, int, str, str]]:
    """Path, offset, length, reason and detail of every problem."""
    names = ("path", "offset", "length", "reason", "detail")
    return [tuple(one[name] for name in names) for one in json_of(where, "problems")["problems"]]


def endless(events: list[NativeEvent]) -> Any:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    events[0].arguments = nested
    return events


# ---------------------------------------------------------------- wrong records

WRONG_RECORDS: dict[str, Change] = {
    "no record": lambda cursor, record: (cursor, "a text"),
    "none": lambda cursor, record: (cursor, None),
    "another struct": lambda cursor, record: (cursor, Cursor()),
    "ts too large": setting(ts=2**80),
    "ts in no year": setting(ts=2**60),
    "ts a text": setting(ts="2026-07-01"),
    "ts a fraction": setting(ts=1.5),
    "events none": setting(events=None),
    "events texts": setting(events=["hello"]),
    "events a dict": setting(events={"kind": "user_msg"}),
    "no events": setting(events=[]),
    "events and bookkeeping": setting(bookkeeping="note"),
    "events that continue others": setting(continues=True),
    "session none": setting(session=None),
    "session a number": setting(session=5),
    "session empty": setting(session=""),
    "session a path": setting(session="../../x y\0"),
    "session too long": setting(session="s" * 201),
    "native id a list": setting(native_id=["x"]),
    "native id empty": setting(native_id=""),
    "parent session a path": setting(parent_session="a/b"),
    "relation unknown": setting(relation="cousin"),
    "link to a path": setting(link=ChildLink("a/b", "c1")),
    "base of a path": setting(base=Base("a/b", 1)),
    "base too large": setting(base=Base("two", 2**70)),
    "offset beyond the data": setting(offset=10**9),
    "offset negative": setting(offset=-1),
    "offset too large": setting(offset=2**70),
    "length negative": setting(length=-5),
    "length beyond the data": setting(length=10**9),
    "check too large": setting(check=2**90),
    "arguments bytes": setting_event(arguments={"a": b"b"}),
    "facts a list": setting(facts=[1]),
    "facts with an object": setting(facts={"title": object()}),
    "facts with a wrong title": setting(facts={"custom_title": {"a": 1}}),
    "facts with a wrong depth": setting(facts={"spawn_depth": "deep"}),
    "facts with a wrong parent": setting(facts={"relation": "fork", "parent": "a/b"}),
    "spawn depth too large": setting(spawn_depth=2**70),
    "turns undone negative": setting(turns_undone=-1),
    "back to prompt too large": setting(back_to_prompt=2**70),
    "ordinal a text": setting(ordinal="1"),
    "outcomes none": setting(outcomes=None),
    "usage a dict": setting(usage={"input_tokens": 1}),
    "usage without an id": setting(usage=NativeUsage("", "m1", output_tokens=1)),
    "usage of a path": setting(usage=NativeUsage("u", "m1", subagents=("a/b",))),
    "more usage none": setting(more_usage=None),
    "cwd a path object": setting(cwd=Path("/w")),
    "kind none": setting_event(kind=None),
    "kind empty": setting_event(kind=""),
    "role a number": setting_event(role=3),
    "marks a text": setting_event(marks="error"),
    "summary bytes": setting_event(summary=b"\xff"),
    "call id a number": setting_event(call_id=1),
    "duration too large": setting_event(duration_ms=2**62),
    "duration negative": setting_event(duration_ms=-1),
    "exit code too large": setting_event(exit_code=2**64),
    "arguments an object": setting_event(arguments=object()),
    "arguments nested too deeply": lambda cursor, record: (
        cursor,
        msgspec.structs.replace(record, events=endless(record.events)),
    ),
}


def test_every_wrong_record_is_a_problem_and_costs_itself_alone(home: Path, stores: Stores) -> None:
    where, log = stores.place("memory"), toy_log(home, "one")
    changes, expected = {}, []
    for name, change in WRONG_RECORDS.items():
        place = sum(map(len, log.lines))
        log.add(answer(name))
        changes["one", place] = change
        # If the record's own place is wrong too, the problem begins at the end of the line before.
        starts = (place, max(place - 1, 0))
        end = place + len(log.lines[-1].rstrip())
        expected.append([(str(log.path), at, end - at, UNUSABLE_RECORD) for at in starts])
    log.write()
    with installed(claude, wrong_at(changes)):
        report = json_of(where, "sync")
        assert (report["failed"], report["ingested"], report["sessions"]) == (0, 3, 3)
        found = problems(where)
        assert len(found) == len(expected)
        assert all(one[:4] in places for one, places in zip(found, expected, strict=True))
        start = "the adapter of toy gave a wrong record: "
        assert [one for one in found if not one[4].startswith(start)] == []
        with open_store(where) as store:
            check_sound(store)
            assert [len(events_of(store, uid)) for uid in (TOY, OTHER_TOY, CLAUDE)] == [4, 4, 2]
            (row,) = (one for one in store.sources.every() if one.path == str(log.path))
            assert store.raw.open(row.id).read() == log.path.read_bytes()
            before = contents(store)
        # The same happens wherever the raw is read again.
        assert json_of(where, "rebuild")["skipped"] == {}
        assert json_of(where, "verify")["ok"]
        assert problems(where) == found
        assert run(where, "show", TOY, "--full").exit_code == 0
        with open_store(where) as store:
            assert contents(store) == before
            session = store.sessions.row(TOY)
            assert session is not None
            store.sessions.mark_stale(session.id)
        assert json_of(where, "sync")["failed"] == 0
        with open_store(where) as store:
            assert contents(store) == before
    # A repaired adapter reads the records from the raw.
    with installed(claude, toy.AGENT):
        json_of(where, "rebuild")
        assert problems(where) == []
        with open_store(where) as store:
            assert len(events_of(store, TOY)) == 4 + len(WRONG_RECORDS)
            assert verify(store).findings == []


def test_a_log_of_nothing_but_wrong_records_is_kept(home: Path, stores: Stores) -> None:
    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        return ((found, "no record") for found, _ in toy.read(source, cursor))

    where = stores.place("memory")
    with installed(claude, msgspec.structs.replace(toy.AGENT, read=read)):
        json_of(where, "sync")
        assert len(problems(where)) == 8
        assert json_of(where, "verify")["ok"]
        log = toy_log(home, "one").add(answer("Later."))
        log.write()
        json_of(where, "sync")
        assert len(problems(where)) == 9
    with installed(claude, toy.AGENT):
        json_of(where, "rebuild")
        with open_store(where) as store:
            assert len(events_of(store, TOY)) == 5


WRONG_COUNTS = [1.5, 2**70, -1, "12", float("nan"), float("inf"), True, [], {}]


def test_a_wrong_count_costs_the_figure_alone(home: Path, stores: Stores) -> None:
    where, log = stores.place("memory"), toy_log(home, "one")
    changes = {}
    for number, tokens in enumerate(WRONG_COUNTS):

        def change(cursor: Cursor, record: Record, tokens: Any = tokens) -> Any:
            assert record.usage is not None
            record.usage.input_tokens, record.usage.output_tokens = tokens, 7
            return cursor, record

        changes["one", sum(map(len, log.lines))] = change
        log.add(answer("yes"), usage={"usage_id": f"u{number}", "model": "m1"})
    log.write()
    with installed(claude, wrong_at(changes)):
        json_of(where, "sync")
        found = problems(where)
        assert [(one[1], one[2], one[3]) for one in found] == [
            (place, 0, IMPOSSIBLE_COUNT) for _, place in changes
        ]
        assert all(one[4].startswith("input_tokens is ") for one in found)
        listed = [line.split() for line in run(where, "problems").stdout.splitlines()[1:]]
        assert [line[3] for line in listed] == [str(place) for _, place in changes]
        with open_store(where) as store:
            row = store.sessions.row(TOY)
            assert row is not None
            assert (row.input_tokens, row.output_tokens) == (0, 7 * len(WRONG_COUNTS))
            check_sound(store)
        json_of(where, "rebuild")
        assert problems(where) == found


def test_characters_that_a_database_refuses_are_escaped_everywhere(
    home: Path, stores: Stores
) -> None:
    where, text = stores.place("memory"), "lone \udc80 and \0 zero"

    def change(cursor: Cursor, record: Record) -> Any:
        event = record.events[0]
        event.summary = event.body = event.text = event.native_kind = text
        event.tool = event.model = event.path = event.kind = event.role = text
        event.arguments = {text: [text]}
        record.native_id = record.cwd = record.git_branch = record.agent_version = text
        record.facts = {"custom_title": text, text: text}
        record.usage = NativeUsage(text, text, output_tokens=3, speed=text, service_tier=text)
        return cursor, record

    with installed(claude, wrong(change)):
        assert run(where, "sync").exit_code == 0
        assert problems(where) == []
        with open_store(where) as store:
            check_sound(store)
            assert len(events_of(store, TOY)) == 4
        for words in (("rebuild",), ("verify",), ("show", TOY, "--full"), ("sessions",), ("cost",)):
            assert run(where, *words).exit_code == 0, words


def test_new_kinds_and_roles_are_kept_as_they_are(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(setting_event(kind="dream", role="muse"))):
        assert run(where, "sync").exit_code == 0
        events = json_of(where, "show", TOY, "--all")["events"]
        assert ("dream", "muse") in [(event["kind"], event["role"]) for event in events]
        assert json_of(where, "verify")["ok"]


def test_a_record_that_is_changed_after_it_was_given_stays_as_it_was(
    home: Path, stores: Stores
) -> None:
    """One record object for all lines: an adapter may save memory in this way."""

    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        shared = Record(0, 0, "")
        for found, record in toy.read(source, cursor):
            for name in Record.__struct_fields__:
                setattr(shared, name, getattr(record, name))
            yield found, shared

    where = stores.place("memory")
    with installed(claude, msgspec.structs.replace(toy.AGENT, read=read)):
        assert run(where, "sync").exit_code == 0
        with open_store(where) as store:
            assert [event.seq for event in events_of(store, TOY)] == [0, 1, 2, 3]
            check_sound(store)


def test_a_document_that_states_nothing_adds_no_session(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    (home / ".toy" / "three.doc").write_text("{}\n")

    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        for found, record in toy.read(source, cursor):
            record.facts = None
            yield found, record

    with installed(claude, msgspec.structs.replace(toy.AGENT, read=read)):
        assert run(where, "sync").exit_code == 0
        assert json_of(where, "rebuild")["skipped"] == {}
        with open_store(where) as store:
            assert sorted(store.sessions.uids()) == [CLAUDE, TOY, OTHER_TOY]
            check_sound(store)


# ---------------------------------------------------------------- wrong cursors and exceptions


class Silly(BaseException):
    """Neither an ``Exception`` nor the user's Ctrl-C."""


def raising(error: BaseException) -> Change:
    def change(cursor: Cursor, record: Record) -> Any:
        raise error

    return change


def moved(offset: Any, state: Any = "") -> Change:
    return lambda cursor, record: (Cursor(offset, state), record)


WRONG_READINGS: dict[str, tuple[Change, str]] = {
    "beyond the data": (moved(10**6), "WrongCursor: 1000000 is beyond the end of the data"),
    "far beyond": (moved(2**80), "WrongCursor: 1208925819614629174706176 is beyond the end"),
    "backwards": (moved(1), "WrongCursor: it goes back from "),
    "negative": (moved(-1), "WrongCursor: it goes back from "),
    "inside the record": (
        lambda cursor, record: (Cursor(record.offset + 1), record),
        "WrongCursor: ",
    ),
    "a text": (moved("12"), "WrongCursor: its offset must be an integer, not '12'"),
    "state a dict": (
        lambda cursor, record: (Cursor(cursor.offset, {"a": 1}), record),  # type: ignore[arg-type]
        "WrongCursor: its state must be text that can be stored, not {'a': 1}",
    ),
    "state a surrogate": (
        lambda cursor, record: (Cursor(cursor.offset, "\udc80"), record),
        "WrongCursor: its state must be text that can be stored",
    ),
    "no cursor": (lambda cursor, record: (5, record), "WrongCursor: 5 is not a Cursor"),
    "no pair": (lambda cursor, record: record, "TypeError: read gave Record("),
    "one too many": (lambda cursor, record: (cursor, record, 1), "TypeError: read gave ("),
    "exit": (raising(SystemExit(5)), "SystemExit: 5"),
    "base exception": (raising(Silly("x")), "Silly: x"),
    "error without text": (raising(OSError()), "OSError"),
    "error of the system": (raising(PermissionError(13, "no")), "PermissionError: [Errno 13] no"),
    "error of ours": (raising(ValueError("mid")), "ValueError: mid"),
    "too deep": (raising(RecursionError("deep")), "RecursionError: deep"),
    "out of memory": (raising(MemoryError()), "MemoryError"),
}


def test_a_wrong_reading_is_a_failure_on_the_file_and_loses_nothing(
    home: Path, stores: Stores
) -> None:
    where = stores.place("memory")
    logs = {f"w{number}": toy_log(home, f"w{number}") for number in range(len(WRONG_READINGS))}
    changes = {}
    for (name, log), (change, _) in zip(logs.items(), WRONG_READINGS.values(), strict=True):
        log.write()
        changes[name, sum(map(len, log.lines[:WRONG_LINE]))] = change
    expected = {
        str(log.path): f"the adapter of toy failed on {str(log.path)!r}: {reason}"
        for log, (_, reason) in zip(logs.values(), WRONG_READINGS.values(), strict=True)
    }
    with installed(claude, wrong_at(changes)):
        for later in range(2):
            assert json_of(where, "sync")["failed"] == len(logs)
            found = problems(where)
            assert {path for path, *_ in found} == set(expected)
            for path, _, _, why, detail in found:
                assert why == "unreadable" and detail.startswith(expected[path]), detail
            with open_store(where) as store:
                assert {CLAUDE, TOY, OTHER_TOY} <= set(store.sessions.uids())
                check_sound(store)
            for log in logs.values():
                log.add(answer(f"Later: {later}."), native_id=f"{log.path.stem}#later{later}")
                log.write()
        assert json_of(where, "verify")["ok"]
    with installed(claude, toy.AGENT):
        assert run(where, "sync").exit_code == 0
        assert problems(where) == []
        with open_store(where) as store:
            assert {len(events_of(store, f"toy:{name}")) for name in logs} == {6}
            check_sound(store)
    # A rebuild leaves the sessions of an adapter that fails as they are.
    with installed(claude, wrong_at(changes)):
        report = json_of(where, "rebuild")
        assert list(report["skipped"]) == ["toy"]
        assert json_of(where, "verify")["ok"]
        assert "It is done." in run(where, "show", "toy:w0").stdout
        with open_store(where) as store:
            assert {len(events_of(store, f"toy:{name}")) for name in logs} == {6}


def test_a_reading_without_an_end_is_a_failure_on_the_file(
    home: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_reading, "MOST_WITHOUT_PROGRESS", 50)

    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        for item in toy.read(source, cursor):
            yield from repeat(item) if source.ref.session == "one" else [item]

    where = stores.place("memory")
    with installed(claude, msgspec.structs.replace(toy.AGENT, read=read)):
        assert json_of(where, "sync")["failed"] == 1
        ((_, _, _, why, detail),) = problems(where)
        assert why == "unreadable" and "over 50 records" in detail
        with open_store(where) as store:
            assert sorted(store.sessions.uids()) == [CLAUDE, OTHER_TOY]


def test_the_user_can_interrupt_an_adapter(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(raising(KeyboardInterrupt()))):
        assert run(where, "sync").exit_code not in (0, 3)
    with installed(claude, toy.AGENT):
        assert run(where, "sync").exit_code == 0
        with open_store(where) as store:
            assert sorted(store.sessions.uids()) == [CLAUDE, TOY, OTHER_TOY]


def test_our_own_adapters_are_not_checked_record_by_record(home: Path) -> None:
    with installed(claude, toy.AGENT):
        assert checked_reading.is_ours(claude)
        assert checked_reading.is_ours(registry.agent("claude"))
        assert not checked_reading.is_ours(toy.AGENT)
        assert not checked_reading.is_ours(msgspec.structs.replace(claude, version=99))


# ---------------------------------------------------------------- problems and rebuilds


def test_a_rebuild_drops_the_problems_that_the_adapter_no_longer_finds(
    home: Path, stores: Stores
) -> None:
    """The record is stored, so the problem has no length. It goes all the same."""
    where = stores.place("memory")

    def change(cursor: Cursor, record: Record) -> Any:
        record.usage = NativeUsage("one-1", "m1", output_tokens=2**60)
        return cursor, record

    with installed(claude, wrong(change, line=3)):
        json_of(where, "sync")
        ((_, _, length, reason, _),) = problems(where)
        assert (length, reason) == (0, IMPOSSIBLE_COUNT)
        for _ in range(2):
            json_of(where, "rebuild")
            assert len(problems(where)) == 1
    with installed(claude):
        # Without the adapter nothing is read again, so the problem stays.
        json_of(where, "rebuild")
        assert len(problems(where)) == 1
    with installed(claude, toy.AGENT):
        json_of(where, "rebuild")
        assert problems(where) == []


def test_a_rebuild_finds_an_unusable_session_id_once_more(home: Path, stores: Stores) -> None:
    where = stores.place("memory")

    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        for found, record in toy.read(source, cursor):
            record.session, record.unfit_name = f"x-{source.ref.session}", "a b"
            yield found, record

    with installed(claude, msgspec.structs.replace(toy.AGENT, read=read)):
        json_of(where, "sync")
        found = problems(where)
        assert [one[3] for one in found] == [UNUSABLE_ID] * 2
        for _ in range(2):
            json_of(where, "rebuild")
            assert problems(where) == found


def test_a_rebuild_keeps_the_problem_of_a_file_that_cannot_be_read(
    home: Path, stores: Stores
) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(raising(ValueError("mid")))):
        json_of(where, "sync")
    with installed(claude, toy.AGENT):
        json_of(where, "rebuild")
        assert [one[3] for one in problems(where)] == ["unreadable"]


def test_several_problems_at_one_place_are_one(home: Path, stores: Stores) -> None:
    where = stores.place("memory")

    def read(source: Readable, cursor: Cursor) -> Iterator[Any]:
        for found, _ in toy.read(source, cursor):
            for detail in ("first", "second"):
                yield found, Record(0, 5, "one", problem="odd", problem_detail=detail)

    with installed(claude, msgspec.structs.replace(toy.AGENT, read=read)):
        assert json_of(where, "sync")["failed"] == 0
        assert [one[3:] for one in problems(where)] == [("odd", "first")] * 2
