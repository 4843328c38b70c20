"""A server that ends our connection at the k-th statement, for every k of an operation: the error
is one of ours, nothing is half-done, and the same store goes on."""

from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from typing import Any

import psycopg
import pytest

from session_memory.core.errors import SessionMemoryError
from session_memory.live.store import SessionStore
from session_memory.retain.verification import verify
from session_memory.store.postgres import Postgres
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .story import Model, Seen, Step, perform

pytestmark = pytest.mark.only("postgresql")

# What every statement goes through on its way to the server.
WAYS = ("_run", "_control", "_copy")
END = "select pg_terminate_backend(%s, 10000)"


class Interrupter:
    """Ends the connection of a store before its k-th statement."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._server = psycopg.connect(url, autocommit=True)
        self._at = 0
        for name in WAYS:
            monkeypatch.setattr(Postgres, name, self._counting(getattr(Postgres, name)))

    def _counting(self, really: Any) -> Any:
        def counted(db: Postgres, *arguments: Any) -> Any:
            self._at -= 1
            if self._at == 0:
                connection = db._connections.channel().connection
                self._server.execute(END, [connection.info.backend_pid])
            return really(db, *arguments)

        return counted

    def arm(self, statement: int) -> None:
        self._at = statement

    def disarm(self) -> bool:
        """Whether it had come to that."""
        waiting, self._at = self._at > 0, 0
        return not waiting

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def interrupter(
    stores: Stores, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Interrupter]:
    made = Interrupter(server_url, monkeypatch)
    yield made
    made.close()


STEPS: dict[str, Step] = {
    "append": {"do": "append", "lengths": [10]},
    "append-several": {"do": "append", "lengths": [10, 150_000, 10], "key": "once"},
    "fold": {"do": "fold", "members": [1, 2, 3], "length": 100},
    "rewind": {"do": "rewind", "to": 4},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_an_operation_is_done_or_not_done_whenever_the_server_goes_away(
    stores: Stores, interrupter: Interrupter, name: str
) -> None:
    place = stores.place("interrupted")
    with SessionStore.open(place) as store:
        for statement in count(1):
            session, model = _begun(store, f"s{statement}")
            step = {**STEPS[name], "session": session, "tag": "t", "first": model.next}
            interrupter.arm(statement)
            error = _outcome(store, step)
            if not interrupter.disarm():
                break
            after = deepcopy(model)
            after.take(step)
            assert isinstance(error, SessionMemoryError), repr(error)
            assert Seen.of(store, session) in (model.seen(), after.seen())
            if Seen.of(store, session) == model.seen():
                # The caller does it again.
                assert perform(store, step) == model.take(step)
                assert Seen.of(store, session) == after.seen()
        assert statement > 3
    with open_store(place) as checked:
        assert verify(checked).findings == []


def _begun(store: SessionStore, session: str) -> tuple[str, Model]:
    model = Model()
    step = {"do": "append", "session": session, "tag": "t", "first": 1, "lengths": [20] * 6}
    store.create_session(session_id=session)
    assert perform(store, step) == model.take(step)
    return session, model


def _outcome(store: SessionStore, step: Step) -> BaseException | None:
    try:
        perform(store, step)
    except Exception as error:
        return error
    return None
