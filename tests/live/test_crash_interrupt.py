"""Ctrl-C at any moment of an operation, also while it waits for another process: the same store
goes on, and nothing is half-done.

``SESSION_MEMORY_INTERRUPTS`` asks for more than the suite has time for.
"""

import contextlib
import gc
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import session_memory
from session_memory.live.store import SessionStore
from session_memory.retain.verification import verify
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .processes import PATIENCE_S, Child
from .story import Model, Seen, Step, Storyteller, perform

INTERRUPTS = {"sqlite": 20, "postgresql": 6}
OURS = str(Path(session_memory.__file__).parent)
# What runs between our lines; on a server psycopg's own would be interrupted there too, which it
# survives with a warning.
TRACED = {"sqlite": (OURS, contextlib.__file__), "postgresql": (OURS,)}
# Of the lines at which an operation is interrupted: a server takes its time for each. The
# operations have most lines in common, and begin at different ones.
IS_WHOLE = "SESSION_MEMORY_INTERRUPTS" in os.environ
STRIDE = {"sqlite": 1 if IS_WHOLE else 3, "postgresql": 1 if IS_WHOLE else 25}
LATEST_S = {"sqlite": 0.002, "postgresql": 0.01}


class Interruption:
    """``KeyboardInterrupt`` out of nowhere, once, and only while an operation runs."""

    def __init__(self) -> None:
        self.came = False
        self._is_wanted = True

    def _come(self, number: int, frame: FrameType | None) -> None:
        if self._is_wanted:
            self.came, self._is_wanted = True, False
            raise KeyboardInterrupt

    def after(self, seconds: float, operation: Callable[[], object]) -> bool:
        """Whether it came; an operation that waits for another process ends with it."""
        before = signal.signal(signal.SIGALRM, self._come)
        with suppress(KeyboardInterrupt):
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                operation()
            finally:
                self._is_wanted = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        return self.came


@pytest.fixture(autouse=True)
def no_search_for_garbage() -> Iterator[None]:
    """Hypothesis has a function called at each search for garbage. An interrupt that arrives in it
    is lost, and the transaction it should have ended stays open on the server."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def in_the_main_thread() -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread alone, and this is another")


@pytest.mark.slow
@pytest.mark.usefixtures("in_the_main_thread")
@pytest.mark.parametrize("beside", ["alone", "beside a writer"])
def test_an_interrupted_operation_leaves_a_store_that_works(
    stores: Stores, database: str, beside: str
) -> None:
    place = stores.place("interrupted")
    chance = random.Random(beside)
    wanted = int(os.environ.get("SESSION_MEMORY_INTERRUPTS", INTERRUPTS[database]))
    teller, interrupts = Storyteller("told", chance), 0
    with SessionStore.open(place) as store, Child("hold", place) as writer:
        assert writer.hear() == "ready"
        while interrupts < wanted:
            step = teller.next_step()
            if beside != "alone":
                writer.tell("hold")
                assert writer.hear() == "held"
            moment = chance.uniform(1e-6, LATEST_S[database])
            came = Interruption().after(moment, partial(perform, store, step))
            if beside != "alone":
                writer.tell("go")
                assert writer.hear() == "free"
            interrupts += came
            if not came or _was_taken(store, teller, step):
                teller.took(step)
    with SessionStore.open(place) as store:
        for session, model in teller.models.items():
            assert Seen.of(store, session) == model.seen()
    with open_store(place) as checked:
        assert verify(checked).findings == []


def _was_taken(store: SessionStore, teller: Storyteller, step: Step) -> bool:
    """By the same store, at once: a session is as it was before the step or after it."""
    session = step["session"]
    found = Seen.of(store, session)
    if step["do"] == "create":
        return found is not None
    after = deepcopy(teller.models[session])
    after.take(step)
    assert found in (teller.models[session].seen(), after.seen())
    return found == after.seen()


STEPS: dict[str, Step] = {
    "append": {"do": "append", "lengths": [10], "key": "once"},
    "fold": {"do": "fold", "members": [1, 2, 3], "length": 100},
    "rewind": {"do": "rewind", "to": 4},
}


class AtLine:
    """``KeyboardInterrupt`` at the k-th line of ours that runs, which is where signals come in."""

    def __init__(self, number: int, traced: tuple[str, ...]) -> None:
        self._left = number
        self._files = traced
        self.came = ""

    def _traced(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(self._files):
            return None
        self._left -= event in ("call", "line")
        if self._left == 0 and not self.came:
            self.came = f"{frame.f_code.co_qualname}:{frame.f_lineno} {event}"
            raise KeyboardInterrupt
        return self._traced

    def during(self, operation: Callable[[], object]) -> str:
        """Where it came; empty when there were fewer lines than that."""
        before = sys.gettrace()
        with suppress(KeyboardInterrupt):
            try:
                sys.settrace(self._traced)
                operation()
            finally:
                sys.settrace(before)
        return self.came


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_an_operation_is_done_or_not_done_at_whichever_line_it_is_interrupted(
    stores: Stores, database: str, name: str
) -> None:
    place = stores.place("interrupted")
    with SessionStore.open(place) as store, SessionStore.open(place) as another:
        stride = STRIDE[database]
        for line in count(1 + list(STEPS).index(name) % stride, stride):
            model = Model()
            begin = {"session": f"s{line}", "tag": "t", "first": 1}
            _in_another_thread(store, {**begin, "do": "create"})
            fields = {**begin, "do": "append", "lengths": [20] * 6}
            assert _in_another_thread(store, fields) == model.take(fields)
            step = {**STEPS[name], **begin, "first": model.next}
            where = AtLine(line, TRACED[database]).during(partial(perform, store, step))
            if not where:
                break
            after = deepcopy(model)
            after.take(step)
            found = Seen.of(another, step["session"])
            assert found in (model.seen(), after.seen()), where
            assert Seen.of(store, step["session"]) == found, where
        assert line > 20


def _in_another_thread(store: SessionStore, step: Step) -> list[int]:
    """Whoever was interrupted must not have kept the lock."""
    done: list[list[int]] = []
    thread = threading.Thread(target=lambda: done.append(perform(store, step)), daemon=True)
    thread.start()
    thread.join(PATIENCE_S / 4)
    assert done, "another thread cannot write any more"
    return done[0]
