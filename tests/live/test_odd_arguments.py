"""Whatever a caller passes to a live operation: it works, or one of our errors names the field."""

import inspect
from contextlib import suppress
from typing import Any

import pytest

from session_memory.core.errors import InvalidRecord, SessionMemoryError
from session_memory.live import SessionStore

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

ODD = (
    *(None, -1, 2**63, -(2**70), 1.5, float("nan"), "", "\ud800", "a\0b", b"x", object()),
    *([], [1], [None], [{}], {}, {1: 2}, ("a",)),
)
GIVEN: dict[str, Any] = {
    "role": "user",
    "content": "x",
    "owner": "me",
    "title": "t",
    "seq": 1,
    "messages": [{"role": "user", "content": "x"}],
    "pending": None,
    "last_usage": None,
}
# These wait for more messages, or are no operations on a session.
LEFT_OUT = {"open", "close", "events"}


def operations() -> list[str]:
    names = [name for name in dir(SessionStore) if not name.startswith("_")]
    return [n for n in names if n not in LEFT_OUT and callable(getattr(SessionStore, n))]


@pytest.mark.parametrize("name", operations())
def test_odd_arguments_raise_no_foreign_error(live: SessionStore, name: str) -> None:
    session = live.create_session()
    live.append_message(session, role="user", content="x")
    given = {**GIVEN, "session_id": session, "parent_session_id": session}
    operation = getattr(live, name)
    parameters = [
        one
        for one in inspect.signature(operation).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    needed = {p.name: given.get(p.name, 1) for p in parameters if p.default is p.empty}
    for parameter in parameters:
        for value in ODD:
            with suppress(SessionMemoryError):
                operation(**{**needed, parameter.name: value})


@pytest.mark.only("sqlite")
def test_an_odd_number_is_named(live: SessionStore) -> None:
    session = live.create_session()
    with pytest.raises(InvalidRecord, match="fence must be a whole number") as caught:
        live.rename_session(session, "title", fence=2**70)
    assert caught.value.field == "fence"
