"""Records whose fields have the right types never stop a sync, whatever they say together.

An adapter may contradict itself: copies that differ, sessions that are each other's parents,
prompts that are taken back and never were. The store must take it; what it shows then may be odd.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec
import pytest
import toy
from on_a_server import cases

from session_memory.adapters import jsonl
from session_memory.adapters.base import (
    TOKEN_COUNTS,
    Base,
    CallOutcome,
    ChildLink,
    Cursor,
    NativeEvent,
    NativeUsage,
    Readable,
    Record,
)
from session_memory.core.schema import KINDS, RELATIONS, ROLES
from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.retain.verification import verify
from session_memory.testing.agents import installed
from session_memory.testing.collecting import collect, events_of, new_store, rebuilt, usage_of

T = TypeVar("T")
IDS = ("one", "two", "x:y", "a" * 200, "...", "0")
TEXTS = ("", "x", "a\0b", "\ud800", "é" * 5, "{}", "\n\n", "x" * 3000, "a,b", "../..", "toy:one")
ARGUMENTS = (
    None,
    [1, {"a": None}],
    5,
    {"command": ["a", 1], "file_path": 5, "new_string": []},
    {"edits": [{"old_string": 1}], "changes": {"a": {"add": 1}}},
)
FACTS = ("cwd", "model", "title", "custom_title", "ai_title", "agent_name", "summary", "odd")
LARGE = 1 << 40


class AnyRecords(Random):
    """Makes records of the right types, and nothing else about them is right."""

    def maybe(self, make: Callable[[], T], chance: float = 0.3) -> T | None:
        return make() if self.random() < chance else None

    def text(self) -> str:
        return self.choice(TEXTS)

    def integer(self, low: int = -(1 << 63), high: int = (1 << 63) - 1) -> int:
        return self.choice((low, high, max(low, 0), self.randint(low, high)))

    def record(self, length: int, session: str) -> Record:
        record = Record(0, length, self.choice((session, session, *IDS)))
        match self.choice(("events", "events", "events", "bookkeeping", "problem")):
            case "events":
                record.events = [self.event() for _ in range(self.randint(1, 3))]
            case "bookkeeping":
                record.bookkeeping = "note"
                record.continues, record.text = self.random() < 0.5, self.text()
            case _:
                record.problem, record.problem_detail = "odd", self.text()
        record.ts = self.maybe(lambda: self.integer(MIN_MS, MAX_MS), 0.8)
        record.native_id = self.maybe(lambda: self.choice(("m1", "m2", "m3", "a\0b")), 0.7)
        record.parent_id = self.maybe(lambda: self.choice(("m1", "m2", "m3", "")))
        record.usage, record.more_usage = self.maybe(self.usage), [self.usage()]
        self._place(record)
        self._describe(record)
        return record

    def _place(self, record: Record) -> None:
        """Where the record is, and what it comes from and takes back."""
        record.is_sidechain, record.follows = self.random() < 0.2, self.random() < 0.4
        record.parent_session = self.maybe(lambda: self.choice((*IDS, "")))
        record.relation = self.maybe(lambda: self.choice(sorted(RELATIONS)))
        record.link = self.maybe(lambda: ChildLink(self.choice(IDS), self.text()))
        record.base = self.maybe(lambda: Base(self.choice(IDS), self.integer()), 0.1)
        record.spawn_depth = self.maybe(lambda: self.integer(0, 1 << 31))
        record.ordinal = self.maybe(self.integer)
        record.turns_undone = self.choice((0, 0, 0, 1, 5, 1 << 31))
        record.back_to_prompt = self.maybe(lambda: self.integer(0, 1 << 31), 0.1)
        record.stands_at = self.maybe(lambda: self.choice(("", "m1", "m9")), 0.1)

    def _describe(self, record: Record) -> None:
        record.cwd, record.git_branch = self.maybe(self.text), self.maybe(self.text)
        record.agent_version, record.unfit_name = self.maybe(self.text), self.maybe(self.text, 0.1)
        record.spawn_call_id, record.check = self.maybe(self.text), self.integer()
        record.facts = self.maybe(self.facts)
        record.outcomes = [
            CallOutcome(
                self.choice(("c1", self.text())),
                exit_code=self.maybe(self.integer),
                duration_ms=self.maybe(lambda: self.integer(0, LARGE)),
            )
        ]

    def facts(self) -> dict[str, Any]:
        stated: dict[str, Any] = {name: self.text() for name in self.sample(FACTS, 4)}
        relation = {"relation": self.choice(sorted(RELATIONS)), "parent": self.choice(IDS)}
        more: dict[str, Any] = {"base": [self.choice(IDS), 5], **relation}
        return stated | self.choice([{}, more])

    def event(self) -> NativeEvent:
        return NativeEvent(
            self.choice((*sorted(KINDS), "dream")),
            self.choice((*sorted(ROLES), "muse")),
            self.text(),
            self.text(),
            tuple(self.sample(("error", "retry", "edit", "dream"), 2)),
            self.maybe(self.text),
            self.maybe(lambda: self.choice(("c1", "c2", self.text()))),
            self.maybe(lambda: self.choice(("r1", self.text()))),
            self.maybe(self.text),
            self.random() < 0.3,
            self.maybe(lambda: self.integer(0, LARGE)),
            self.maybe(self.integer),
            self.maybe(self.text),
            self.text(),
            self.choice(ARGUMENTS),
            is_shell=self.random() < 0.3,
            ends_turn=self.random() < 0.3,
            is_prompt=self.random() < 0.3,
            is_interrupt=self.random() < 0.3,
            mode=self.maybe(self.text),
            body=self.text(),
        )

    def usage(self) -> NativeUsage:
        counts: Any = {name: self.integer(0, LARGE) for name in TOKEN_COUNTS}
        return NativeUsage(
            self.choice(("u1", "u2", self.text() or "u3")),
            self.text(),
            **counts,
            speed=self.maybe(self.text),
            service_tier=self.maybe(self.text),
            includes_subagents=self.random() < 0.5,
            subagents=tuple(self.sample(IDS, 2)),
        )


def reader(chance: AnyRecords) -> Callable[[Readable, Cursor], Iterator[tuple[Cursor, Record]]]:
    """Reads any record for a line, and the same one whenever the line is read again."""
    made: dict[tuple[str, bytes], Record] = {}

    def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
        with source.open(cursor.offset) as stream:
            for offset, length, line in jsonl.lines(stream, cursor.offset):
                key = (source.ref.path.name, line or b"")
                if key not in made:
                    made[key] = chance.record(length, source.ref.session)
                record = deepcopy(made[key])
                record.offset = offset
                yield Cursor(offset + length), record

    return read


@pytest.mark.parametrize("seed", cases(range(3), (0,)))
def test_no_record_of_the_right_types_stops_a_sync(tmp_path: Path, seed: int) -> None:
    root = tmp_path / ".toy"
    root.mkdir()
    logs = [root / name for name in ("one.toy", "two.toy", "three.line", "one.doc")]
    for log in logs:
        log.write_text("".join(f"{number}\n" for number in range(12)))
    agent = msgspec.structs.replace(toy.AGENT, read=reader(AnyRecords(seed)))
    with installed(agent), new_store() as store:
        assert collect(store, root).report.failed == 0
        for log in logs:
            with log.open("a") as file:
                file.write("later\n")
        assert collect(store, root).report.failed == 0
        verify(store, sample=1000)
        for uid in store.sessions.uids():
            events_of(store, uid)
            usage_of(store, uid)
        rebuilt(store).close()
