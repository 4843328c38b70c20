"""A process that appends and compacts, killed at any moment: what it acknowledged is there.

``SESSION_MEMORY_KILLS`` asks for more kills than the suite has time for.
"""

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from session_memory.live.store import SessionStore
from session_memory.retain.verification import verify
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .processes import PATIENCE_S, Child, Worker
from .story import Model, Seen, Step, Storyteller, perform

KILLS = {"sqlite": 16, "postgresql": 6}
# By when most workers have begun, and have a few dozen steps behind them.
LATEST_S = {"sqlite": 0.06, "postgresql": 0.2}


@pytest.mark.kill
@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_no_session_is_wedged(
    stores: Stores, database: str, tmp_path: Path
) -> None:
    """Two processes at one store. One is killed, the other must go on, and is killed in turn."""
    kills = int(os.environ.get("SESSION_MEMORY_KILLS", KILLS[database]))
    campaign = Campaign(stores.place("killed"), tmp_path, LATEST_S[database])
    with campaign.nurseries():
        while campaign.kills < kills:
            campaign.round()
    campaign.check()
    campaign.check_once_more()
    print(f"{database}: {campaign}")


@dataclass
class Campaign:
    place: str = field(repr=False)
    scratch: Path = field(repr=False)
    latest_s: float = field(repr=False)
    kills: int = 0
    acknowledged: int = 0
    in_flight: int = 0
    completed: int = 0
    _models: dict[str, Model] = field(default_factory=dict, repr=False)
    _unchecked: list[Worker] = field(default_factory=list, repr=False)
    _chance: random.Random = field(default_factory=lambda: random.Random(4), repr=False)
    _pipes: Iterator[int] = field(default_factory=count, repr=False)
    _children: list[Child] = field(default_factory=list, repr=False)

    def nurseries(self) -> ExitStack:
        SessionStore.open(self.place).close()
        stack = ExitStack()
        self._children = [stack.enter_context(Child("nursery", self.place)) for _ in range(2)]
        return stack

    def round(self) -> None:
        first, second = (self._worker(nursery) for nursery in self._children)
        first.listen(self._chance.uniform(0, self.latest_s))
        first.kill()
        second.hear()
        before = second.acknowledged
        second.listen(PATIENCE_S, lambda: second.acknowledged > before + 1)
        assert second.acknowledged > before + 1, "the survivor of a kill is stuck"
        second.listen(self._chance.uniform(0, self.latest_s / 4))
        second.kill()
        self.kills += 2
        self._unchecked += [first, second]
        # Mostly it is the next worker that meets what a kill has left.
        if self._chance.random() < 0.4:
            self.check()

    def _worker(self, nursery: Child) -> Worker:
        number = next(self._pipes)
        return Worker(nursery, self.scratch / f"pipe-{number}", f"w{number}")

    def check(self) -> None:
        with SessionStore.open(self.place) as store:
            # A server may still be busy with the last words of a client that is dead.
            store._db.execute("update live_sessions set revision = revision")
            for worker in self._unchecked:
                self._check(store, worker)
        self._unchecked.clear()
        self._verify()

    def _check(self, store: SessionStore, worker: Worker) -> None:
        models, begun = _told(worker)
        self.acknowledged += worker.acknowledged
        if begun is not None:
            self.in_flight += 1
            self.completed += _adopted(store, models, begun)
        for session, model in models.items():
            assert Seen.of(store, session) == model.seen(), session
            step = _afterwards(session, model)
            assert perform(store, step) == model.take(step)
        self._models.update(models)

    def check_once_more(self) -> None:
        """Whatever was killed later has left alone what was there before."""
        with SessionStore.open(self.place) as store:
            for session, model in self._models.items():
                assert Seen.of(store, session) == model.seen(), session
        self._verify()

    def _verify(self) -> None:
        with open_store(self.place) as store:
            assert verify(store).findings == []


def _told(worker: Worker) -> tuple[dict[str, Model], Step | None]:
    """What must be there after what was acknowledged, and the step that was begun after that."""
    teller, begun = Storyteller("", random.Random()), None
    for line in worker.lines:
        if "begin" in line:
            begun = line["begin"]
        else:
            assert begun is not None
            assert teller.took(begun) == line["done"]
            begun = None
    return teller.models, begun


def _adopted(store: SessionStore, models: dict[str, Model], begun: Step) -> bool:
    """Whether a step that nobody acknowledged was taken; then it counts as taken."""
    session = begun["session"]
    if begun["do"] == "create":
        if store.get_session(session) is not None:
            models[session] = Model()
        return session in models
    after = deepcopy(models[session])
    after.take(begun)
    if Seen.of(store, session) == models[session].seen():
        return False
    models[session] = after
    return True


def _afterwards(session: str, model: Model) -> Step:
    fields = {"session": session, "tag": "after the kill", "first": model.next}
    return {**fields, "do": "append", "lengths": [40]}
