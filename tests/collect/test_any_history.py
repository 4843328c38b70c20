"""Logs that are written, torn, rewritten, removed and brought back while a store follows them.

Whatever happens between two syncs: what a sync has seen is never lost, nothing is counted twice,
the store proves itself, and everything derived can be made again from the stored logs.
"""

import shutil
import tempfile
from pathlib import Path

from effort import IS_REPEATABLE, times
from families import SESSIONS, uuid_of
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from session_memory.config import Config
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.testing.claude import line_of
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    contents,
    every_usage,
    new_store,
    rebuilt,
)

PLACES = (
    "projects/-a/anna.jsonl",
    "projects/-a/bert.jsonl",
    "projects/-b/anna.jsonl",
    "projects/-a/anna/subagents/agent-a1.jsonl",
)
RECORDS = 8
places = st.sampled_from(PLACES)
stretches = st.tuples(st.integers(0, RECORDS - 1), st.integers(1, 4))


def line(number: int, place: str) -> bytes:
    """The same record in every file, but for the session it says it belongs to."""
    record: dict[str, object] = {
        "uuid": uuid_of(number),
        "parentUuid": uuid_of(number - 1) if number else None,
        "sessionId": SESSIONS["bert" in place],
        "timestamp": f"2026-07-01T10:00:{number:02}.000Z",
    }
    if number % 3 == 0:
        words = {"role": "user", "content": f"prompt {number}"}
        return line_of({**record, "type": "user", "message": words})
    message = {
        "id": f"msg{number}",
        "model": "opus",
        "content": [{"type": "text", "text": f"answer {number}"}],
        "usage": {"output_tokens": number, "input_tokens": 1},
    }
    answer = {"type": "assistant", "message": message}
    if number % 3 == 2 and "subagents" not in place:
        # A response of the subagent. The others only report what it used.
        data = {"type": "agent_progress", "agentId": "a1", "message": answer}
        return line_of({**record, "type": "progress", "data": data, "parentToolUseID": "call1"})
    return line_of({**record, **answer})


def lines(stretch: tuple[int, int], place: str) -> bytes:
    first, count = stretch
    return b"".join(line(n, place) for n in range(first, min(first + count, RECORDS)))


class Following(RuleBasedStateMachine):
    """``seen`` is the whole model: the responses that a sync had a chance to read."""

    @initialize()
    def begin(self) -> None:
        self.scratch = Path(tempfile.mkdtemp())
        self.root = self.scratch / ".claude"
        (self.root / "projects").mkdir(parents=True)
        self.store = new_store()
        self.seen: set[str] = set()
        self.is_checked = False

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.scratch)

    def file(self, place: str) -> Path:
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @rule(place=places, stretch=stretches)
    def append(self, place: str, stretch: tuple[int, int]) -> None:
        with self.file(place).open("ab") as file:
            file.write(lines(stretch, place))

    @rule(place=places, number=st.integers(0, RECORDS - 1), size=st.integers(1, 60))
    def append_a_torn_line(self, place: str, number: int, size: int) -> None:
        with self.file(place).open("ab") as file:
            file.write(line(number, place)[:size])

    @rule(place=places, stretch=stretches)
    def rewrite(self, place: str, stretch: tuple[int, int]) -> None:
        self.file(place).write_bytes(lines(stretch, place))

    @rule(place=places, stretch=stretches)
    def replace(self, place: str, stretch: tuple[int, int]) -> None:
        path = self.file(place)
        path.unlink(missing_ok=True)
        path.write_bytes(lines(stretch, place))

    @rule(place=places, size=st.integers(0, 400))
    def truncate(self, place: str, size: int) -> None:
        path = self.file(place)
        if path.exists():
            path.write_bytes(path.read_bytes()[:size])

    @rule(place=places)
    def remove(self, place: str) -> None:
        self.file(place).unlink(missing_ok=True)

    @rule(place=places, other=places)
    def copy(self, place: str, other: str) -> None:
        if place != other and self.file(place).exists():
            shutil.copyfile(self.file(place), self.file(other))

    @rule()
    def sync(self) -> None:
        self.is_checked = False
        collect(self.store, self.root)
        answers = (number for number in range(RECORDS) if number % 3)
        self.seen |= {f"msg{number}" for number in answers if self.is_readable(number)}

    def is_readable(self, number: int) -> bool:
        """Whether some file holds the record as a whole line of its own."""
        return any(
            line(number, place).rstrip() in self.file(place).read_bytes().split(b"\n")[:-1]
            for place in PLACES
            if self.file(place).exists()
        )

    @rule()
    def sync_twice(self) -> None:
        self.sync()
        before = contents(self.store)
        report = collect(self.store, self.root).report
        assert (report.ingested, report.events) == (0, 0)
        check_same(before, contents(self.store))

    @rule()
    def rebuild(self) -> None:
        collect(self.store, self.root)
        self.sync()
        before = contents(self.store)
        check_same(before, contents(rebuilt(self.store)))

    @rule()
    def move_to_another_store(self) -> None:
        self.sync()
        before = contents(self.store)
        parcel = self.scratch / "parcel"
        export_store(self.store, parcel)
        self.store.close()
        self.store = new_store()
        import_store(self.store, parcel, Config())
        parcel.unlink()
        check_same(before, contents(self.store))

    @invariant()
    def the_store_proves_itself_and_has_lost_nothing(self) -> None:
        # Most rules only change logs. All others sync.
        if not hasattr(self, "store") or self.is_checked:
            return
        self.is_checked = True
        check_sound(self.store)
        used = [usage.usage_id for usage in every_usage(self.store)]
        assert len(used) == len(set(used))
        assert self.seen <= set(used)


EXAMPLES = {
    "sqlite": times(16),
    "postgresql": times(2),
}


def test_a_store_that_follows_any_history_of_logs_loses_nothing(database: str) -> None:
    run_state_machine_as_test(
        Following,
        settings=settings(
            max_examples=EXAMPLES[database],
            derandomize=IS_REPEATABLE,
            stateful_step_count=15,
            deadline=None,
            database=None,
        ),
    )
