"""Which of several sessions owns a record that all of them hold."""

from session_memory.derive.owners import Owners
from session_memory.store.sessions import CollectedSession

ALL = b"in every session"


def subagent(name: str, parent: str | None = None) -> CollectedSession:
    return CollectedSession(
        uid=f"claude:{name}",
        flavor="claude",
        native_id=name,
        state=b"",
        relation="subagent" if parent else None,
        parent_uid=f"claude:{parent}" if parent else None,
    )


def owner(rows: list[CollectedSession], first_own: dict[str, int]) -> str:
    """The owner of a record that all sessions hold; each has a record of its own too."""
    everybody = (1 << len(rows)) - 1
    holders, first_seen = {ALL: everybody}, {ALL: 0}
    for index, row in enumerate(rows):
        own = row.native_id.encode()
        holders[own], first_seen[own] = 1 << index, first_own[row.native_id]
    return rows[Owners(rows, holders, first_seen).of(everybody)].native_id


def test_the_topmost_of_several_named_parents_owns() -> None:
    rows = [subagent("low", "middle"), subagent("middle", "top"), subagent("top")]
    assert owner(rows, {"low": 1, "middle": 2, "top": 3}) == "top"


def test_of_sessions_that_name_each_other_the_one_that_went_on_first_owns() -> None:
    rows = [subagent("one", "two"), subagent("two", "one"), subagent("neither")]
    assert owner(rows, {"one": 3, "two": 2, "neither": 1}) == "two"
