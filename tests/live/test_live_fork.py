"""The context of a fork when its origin was folded and repaired, before and after the fork."""

import pytest

from session_memory.live import MessageState, SessionStore

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

CALL = [{"id": "x", "function": {"name": "run", "arguments": "{}"}}]


def folded_session(live: SessionStore) -> str:
    """Four messages, 1 to 3 folded behind note 5; then an open call (6) and a prompt (7)."""
    session = live.create_session()
    live.append_messages(session, [{"role": "user", "content": f"m{n}"} for n in range(1, 5)])
    live.record_compaction(session, from_seq=1, to_seq=3, note_content="note")
    live.append_message(session, role="assistant", tool_calls=CALL)
    live.append_message(session, role="user", content="m7")
    return session


def context(live: SessionStore, session: str) -> list[int]:
    return [message.seq for message in live.load_active_messages(session)]


def path(live: SessionStore, session: str) -> list[int]:
    return [message.seq for message in live.load_path(session)]


def test_a_fork_has_the_repairs_made_before_it_right_after_their_calls(live: SessionStore) -> None:
    session = folded_session(live)
    assert live.repair(session) == [8]
    expected = [5, 4, 6, 8, 7]
    # Message 8 is the head here, so a fork at 8 has the whole path.
    for at in (7, 8, None):
        fork = live.fork_session(session, at=at)
        assert context(live, fork) == expected
        assert path(live, fork) == [1, 2, 3, *expected[1:]]
        assert [m.seq for m in live.load_tail(fork, 2)] == expected[-2:]
        assert live.pending(fork) == []
        message = live.get_message(fork, 8)
        assert message is not None and (message.tool_call_id, message.stands_after) == ("x", 6)
        assert message.state == MessageState.ACTIVE


def test_a_fork_at_a_repair_ends_with_the_repair(live: SessionStore) -> None:
    session = folded_session(live)
    live.repair(session)
    live.append_message(session, role="user", content="m9")
    fork = live.fork_session(session, at=8)
    assert context(live, fork) == [5, 4, 6, 8]
    assert live.append_message(fork, role="user", content="another way") == 9
    assert context(live, fork) == [5, 4, 6, 8, 9]


def test_a_fork_before_the_call_has_neither_the_call_nor_its_repair(live: SessionStore) -> None:
    session = folded_session(live)
    live.repair(session)
    fork = live.fork_session(session, at=4)
    assert context(live, fork) == [5, 4]
    assert live.get_message(fork, 8) is None
    assert live.append_message(fork, role="user", content="another way") == 6
    assert context(live, fork) == [5, 4, 6]


def test_a_repair_of_the_origin_after_the_fork_is_not_in_the_fork(live: SessionStore) -> None:
    session = folded_session(live)
    fork = live.fork_session(session)
    assert live.repair(session) == [8]
    assert (context(live, session), context(live, fork)) == ([5, 4, 6, 8, 7], [5, 4, 6, 7])
    assert [call.call_id for call in live.pending(fork)] == ["x"]
    assert live.repair(fork) == [8]
    assert context(live, fork) == [5, 4, 6, 8, 7]
    repairs = [live.get_message(one, 8) for one in (session, fork)]
    assert [repair is not None and repair.session_id for repair in repairs] == [session, fork]


def test_a_fork_numbers_its_messages_above_shared_notes_and_repairs(live: SessionStore) -> None:
    session = folded_session(live)
    live.repair(session)
    live.record_compaction(session, from_seq=4, to_seq=8, note_content="second note")
    fork = live.fork_session(session)
    assert context(live, fork) == [5, 9, 7]
    assert live.append_message(fork, role="user", content="more") == 10
    assert context(live, fork) == [5, 9, 7, 10]


def test_undoing_a_shared_fold_in_the_fork_shows_repairs_in_their_place(live: SessionStore) -> None:
    session = folded_session(live)
    live.repair(session)
    live.record_compaction(session, from_seq=4, to_seq=8, note_content="second note")
    fork = live.fork_session(session)
    live.append_message(fork, role="user", content="more")
    assert live.undo_compaction(fork) == 2
    assert context(live, fork) == [5, 4, 6, 8, 7, 10]
    assert context(live, session) == [5, 9, 7]


def test_a_fork_of_a_fork_keeps_folds_and_repairs_of_both(live: SessionStore) -> None:
    session = folded_session(live)
    first = live.fork_session(session)
    assert live.repair(first) == [8]
    live.append_message(first, role="user", content="m9")
    second = live.fork_session(first, at=7)
    assert context(live, second) == [5, 4, 6, 8, 7]
    assert live.append_message(second, role="user", content="m") == 9
    assert context(live, second) == [5, 4, 6, 8, 7, 9]
    assert context(live, session) == [5, 4, 6, 7]


def test_a_fork_inside_folded_messages_has_no_fold(live: SessionStore) -> None:
    session = folded_session(live)
    fork = live.fork_session(session, at=2)
    assert live.list_compactions(fork) == []
    assert live.append_message(fork, role="user", content="another way") == 3
    assert context(live, fork) == [1, 2, 3]


def test_a_fork_numbers_its_own_folds_after_the_shared_ones(live: SessionStore) -> None:
    session = folded_session(live)
    live.repair(session)
    fork = live.fork_session(session)
    assert live.record_compaction(fork, from_seq=5, to_seq=8, note_content="own") == (2, 9)
    assert context(live, fork) == [9, 7]
    assert live.undo_compaction(fork) == 2
    assert context(live, fork) == [5, 4, 6, 8, 7]
    assert [fold.compact_seq for fold in live.list_compactions(session)] == [1]
