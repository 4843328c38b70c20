"""The start page is made before anybody asks, and what two ask at once is made once."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from session_memory import Memory
from session_memory.config import Config
from session_memory.pricing import figure_sets
from session_memory.views.spending_days import spending_days
from session_memory.web.answering import Answering
from session_memory.web.cancelling import Cancellation
from session_memory.web.figure_making import FigureMaking
from session_memory.web.live import Changes
from session_memory.web.memories import Memories
from session_memory.web.one_at_a_time import OneAtATime
from session_memory.web.preparing import PARTS, Preparing, _request
from session_memory.web.routes import ROUTES
from session_memory.web.site import Site

START = next(route for route in ROUTES if route.path == "/")


class Counted:
    """Answers over a store. ``made`` says how many were made, not taken from those kept."""

    def __init__(self, store: Path) -> None:
        def memory() -> Memory:
            return Memory(str(store), Config(), create=False)

        self.made = 0
        self.all_made = threading.Event()
        self.memories, self.changes = Memories(memory), Changes(memory)
        self.answering = Answering(self.memories, self.changes, Site(), self._count)

    def _count(self) -> None:
        self.made += 1
        if self.made == len(PARTS):
            self.all_made.set()

    def ask(self, request: Request) -> bytes:
        return bytes(self.answering.get(START, request, Cancellation()).body)


@pytest.fixture
def counted(demo_store: Path) -> Iterator[Counted]:
    made = Counted(demo_store)
    yield made
    made.changes.close()
    made.memories.close()


def test_the_start_page_and_its_parts_are_kept_before_anybody_asks(counted: Counted) -> None:
    preparing = Preparing(counted.answering)
    preparing.begin()
    with preparing.running():
        assert counted.all_made.wait(20)
    bodies = [counted.ask(_request(part)) for part in PARTS]
    assert counted.made == len(PARTS)
    assert b"Cost by outcome" in bodies[0]
    assert b"<h1" in bodies[-1]


def test_preparing_ends_at_once_with_the_server(counted: Counted) -> None:
    with Preparing(counted.answering).running():
        pass
    assert counted.made == 0


def test_what_is_being_made_is_waited_for() -> None:
    making, order = OneAtATime(), list[str]()
    entered, may_leave = threading.Event(), threading.Event()

    def first() -> None:
        with making.of("page"):
            entered.set()
            may_leave.wait(20)
            order.append("first")

    def second() -> None:
        with making.of("page"):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(20)
    threads[1].start()
    with making.of("another page"):
        order.append("another")
    may_leave.set()
    for thread in threads:
        thread.join(20)
    assert order == ["another", "first", "second"]


def test_a_request_does_not_wait_for_figures(
    demo_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure_sets, "LEAST_SESSIONS", 0)
    with Memory(str(demo_store), Config(), create=False) as memory:
        memory.backup(tmp_path / "memory.db")

    def opened() -> Memory:
        return Memory(str(tmp_path / "memory.db"), Config(), create=False)

    asked = list[str]()
    memories, making = Memories(opened, lambda: asked.append("figures")), FigureMaking(opened)
    with memories.one() as memory:
        counted = spending_days(memory.store, split="model", since=None, until=None)
        assert asked == ["figures"]
        assert memory.store.figures.sets() == []
        making._make()
        # One of costs, one of statistics.
        assert len(sets := memory.store.figures.sets()) == 2
        assert [memory.store.figures.marked(one.id, 1) for one in sets] == [[], []]
        kept = spending_days(memory.store, split="model", since=None, until=None)
        assert (kept, asked) == (counted, ["figures"])
    memories.close()
    with making.running():
        making.ask()
