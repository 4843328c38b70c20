"""Claude Code under the contract that every adapter keeps."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from session_memory.adapters.base import Cursor, Record
from session_memory.adapters.claude import AGENT as claude
from session_memory.testing.adapters import AdapterContract, BytesSource
from session_memory.testing.claude import ClaudeHome, call, usage

SAMPLES = Path(__file__).parent.parent / "data" / "claude"
UNKNOWN = b'{"type":"moon-phase","sessionId":"main","phase":"waxing","parentUuid":null}\n'


class ClaudeContract(AdapterContract):
    adapter = claude
    unknown = UNKNOWN


@pytest.mark.parametrize("scenario", ["basic", "subagent", "interrupt", "denied"])
class TestRecordedSessions(ClaudeContract):
    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = SAMPLES / scenario / "home"


class TestLogsOfEveryLayout(ClaudeContract):
    """What the recorded ones do not hold: old layouts, forks, damage, spilled outputs."""

    @pytest.fixture(autouse=True)
    def _written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        home = ClaudeHome(tmp_path_factory.mktemp("samples"))
        log = home.session("main", version="2.0.30")
        log.summary("an old title")
        log.prompt("make it work")
        log.answer("I look.", call("Bash", command="ls"), early=usage(1), used=usage(9, write=5))
        log.progress()
        log.result("a.py")
        log.raw(b"\n{broken\n  \n")
        log.answer(call("Task", prompt="look"))
        lane = log.sidechain()
        lane.prompt("look")
        lane.answer("looked")
        log.result("looked", details={"agentId": "b1"})
        log.compact()
        log.queued("quickly")
        log.interrupt()
        log.api_error()
        log.custom_title("a title")
        log.spill("out.txt", b"spilled")
        beside = home.subagent(log, "b1", below=False)
        beside.prompt("look")
        beside.answer(call("Bash", command="ls"))
        beside.result("a.py")
        deep = home.subagent(log, "c1", under="workflows/wf1", meta={"toolUseId": log.call_id})
        deep.prompt("look")
        home.fork(log, "fork").prompt("go on")
        log.raw(b'{"torn')
        type(self).samples = home.write()


def forgetful(source: Any, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Names every record after the one before it, and forgets that one when it is stopped."""
    before = "first"
    for place, record in claude.read(source, cursor):
        record.parent_id, before = before, record.native_id or before
        yield place, record


def careless(source: Any, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Leaves out what it cannot read."""
    return (item for item in claude.read(source, cursor) if item[1].problem is None)


def quiet(source: Any, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Leaves out what nobody wants to see."""
    return (item for item in claude.read(source, cursor) if item[1].bookkeeping is None)


def choosy(source: Any, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Leaves out what it does not know."""
    for place, record in claude.read(source, cursor):
        if not any(event.native_kind == "moon-phase" for event in record.events):
            yield place, record


def hasty(source: Any, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Takes a line that is still being written for a whole one."""
    return claude.read(BytesSource(source.ref, source.data + b"\n"), cursor)


def lossy(source: Any, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Forgets which call a result belongs to, what an event is, and how to count."""
    for place, record in claude.read(source, cursor):
        for event in record.events:
            event.call_id = f"{record.offset}"
            event.role = "robot"
        if record.usage is not None:
            record.usage.output_tokens = -1
        yield place, record


def shuffled(root: Path) -> list[Any]:
    refs = list(claude.discover(root))
    random.shuffle(refs)
    return refs * 2


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        ({"read": forgetful}, "test_reading_stops_and_resumes_anywhere"),
        ({"read": quiet}, "test_every_line_is_events_or_bookkeeping_or_a_problem"),
        ({"read": careless}, "test_a_malformed_line_is_a_problem_with_its_place_and_costs_itself"),
        ({"read": careless}, "test_hostile_lines_are_records_like_all_others"),
        ({"read": choosy}, "test_unknown_kinds_are_kept_as_events"),
        ({"read": hasty}, "test_a_torn_last_line_waits_for_its_end"),
        ({"read": hasty}, "test_the_beginning_of_a_log_gives_the_beginning_of_its_items"),
        ({"read": lossy}, "test_events_are_well_formed"),
        ({"read": lossy}, "test_calls_and_results_pair_by_their_id"),
        ({"read": lossy}, "test_usage_is_never_negative_and_names_its_response"),
        ({"discover": shuffled}, "test_discovery_finds_the_samples_and_always_the_same"),
        ({"recognizes": lambda head: True}, "test_the_head_of_a_log_tells_whose_it_is"),
        ({"bookkeeping": frozenset({"x"})}, "test_every_line_is_events_or_bookkeeping"),
    ],
)
def test_the_contract_notices_a_broken_promise(broken: dict[str, Any], test: str) -> None:
    class Suite(ClaudeContract):
        adapter = msgspec.structs.replace(claude, **broken)
        samples = SAMPLES / "basic" / "home"

    [name] = [name for name in dir(Suite) if name.startswith(test)]
    with pytest.raises(AssertionError):
        getattr(Suite(), name)()
