"""Any order of writing, collecting, evicting, restoring and rebuilding.

Beside the store that is evicted from lives one that is not. Whatever happens: every token counts
once and for the same session in both, the store proves itself, and once everything is restored the
two hold the same.
"""

import json
import shutil
import tempfile
from pathlib import Path

from effort import times
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)
from keeping import Keeper, talk

from session_memory.testing.claude import ClaudeLog, line_of
from session_memory.testing.collecting import check_same, check_sound, collect, contents, rebuilt
from session_memory.testing.stores import Stores

MOST_LOGS = 5
which = st.integers(0, MOST_LOGS)


class Retained(RuleBasedStateMachine):
    """``control`` is a store of the same logs that nothing is ever evicted from."""

    stores: Stores
    number = 0

    def __init__(self) -> None:
        super().__init__()
        Retained.number += 1
        self.directory = Path(tempfile.mkdtemp())
        self.keeper = Keeper(self.directory, self.stores.place(f"kept{Retained.number}"))
        self.control = self.stores.new()
        self.messages = 0
        # Once a session goes on in another file, nothing is added to the first.
        self.logs = [self.keeper.claude.session("s0")]
        self.talk(0)

    def log(self, number: int) -> ClaudeLog:
        return self.logs[number % len(self.logs)]

    @property
    def has_room(self) -> bool:
        return len(self.keeper.claude.logs) < MOST_LOGS

    # ------------------------------------------------------------ what agents do

    @rule(number=which)
    def talk(self, number: int) -> None:
        self.messages += 1
        talk(self.log(number), f"word{self.messages}")

    @precondition(lambda self: self.has_room)
    @rule(number=which)
    def fork(self, number: int) -> None:
        log = self.log(number)
        self.logs.append(self.keeper.claude.fork(log, f"s{len(self.keeper.claude.logs)}"))

    @precondition(lambda self: self.has_room)
    @rule(number=which)
    def start_a_subagent(self, number: int) -> None:
        log = self.log(number)
        if log.agent is None:
            name = f"a{len(self.keeper.claude.logs)}"
            self.logs.append(self.keeper.claude.subagent(log, name))

    @precondition(lambda self: self.has_room)
    @rule(number=which)
    def go_on_in_another_file(self, number: int) -> None:
        log = self.log(number)
        if log.agent is None:
            slug = f"-moved-{len(self.keeper.claude.logs)}"
            self.logs[self.logs.index(log)] = self.keeper.claude.keep(log.moved(slug))
            self.talk(number)

    @rule(thief=which, victim=which, line=which)
    def steal(self, thief: int, victim: int, line: int) -> None:
        """A log repeats the id of a line of another one, or of its own, with other words."""
        log, lines = self.log(thief), self.log(victim).lines
        if lines:
            stolen = json.loads(lines[line % len(lines)])
            words = {"role": "user", "content": f"stolen by {thief}"}
            given = {"sessionId": log.session, "agentId": log.agent, "timestamp": None}
            log.raw(line_of({**stolen, "type": "user", "message": words, **given}))

    # ------------------------------------------------------------ what we do

    @rule()
    def collect(self) -> None:
        self.keeper.collect()
        collect(self.control, self.keeper.claude.path)
        self.compare_costs()

    @rule(numbers=st.sets(which, min_size=1))
    def evict(self, numbers: set[int]) -> None:
        uids = self.keeper.store.sessions.uids()
        self.keeper.evict(*{uids[number % len(uids)] for number in numbers} if uids else ())
        check_sound(self.keeper.store)

    @rule(number=which)
    def restore(self, number: int) -> None:
        uids = self.keeper.store.sessions.uids()
        if uids:
            self.keeper.restore(uids[number % len(uids)])

    @rule()
    def rebuild(self) -> None:
        rebuilt(self.keeper.store)

    # ------------------------------------------------------------ what must hold

    def compare_costs(self) -> None:
        ours, theirs = (
            {one.session_uid: one.cost.output_tokens for one in store.sessions.every()}
            for store in (self.keeper.store, self.control)
        )
        assert sum(ours.values()) == sum(theirs.values())
        assert ours.keys() == theirs.keys()

    def teardown(self) -> None:
        self.collect()
        self.keeper.restore()
        check_same(contents(self.control), contents(self.keeper.store))
        check_sound(self.keeper.store)
        self.control.close()
        self.keeper.close()
        shutil.rmtree(self.directory)


def test_whatever_is_evicted_and_restored_in_between_nothing_is_lost(
    stores: Stores, database: str
) -> None:
    Retained.stores = stores
    examples = times(8) if database == "sqlite" else 1
    run_state_machine_as_test(
        Retained,
        settings=settings(max_examples=examples, stateful_step_count=15, deadline=None),
    )
