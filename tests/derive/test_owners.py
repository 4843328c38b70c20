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


def owners(rows: list[CollectedSession], held: dict[bytes, str]) -> dict[bytes, str]:
    """The owner of each record, given the names of its holders; their times do not matter."""
    names = [row.native_id for row in rows]
    masks = {
        record: sum(1 << names.index(name) for name in holders.split())
        for record, holders in held.items()
    }
    chosen = Owners(rows, masks, dict.fromkeys(masks, 0))
    return {record: names[chosen.of(mask)] for record, mask in masks.items()}


def test_a_session_that_was_copied_whole_owns_before_one_that_was_copied_in_pieces() -> None:
    rows = [subagent("a"), subagent("z"), subagent("later")]
    held = {b"1": "a z", b"2": "a later", b"3": "a later", b"4": "later"}
    assert owners(rows, held) == {b"1": "z", b"2": "a", b"3": "a", b"4": "later"}


def test_an_origin_that_was_forked_at_several_places_owns_what_it_shares() -> None:
    rows = [subagent("early"), subagent("late"), subagent("origin")]
    held = {b"1": "early late origin", b"2": "late origin", b"3": "early", b"4": "late"}
    assert owners(rows, held) == {b"1": "origin", b"2": "origin", b"3": "early", b"4": "late"}
