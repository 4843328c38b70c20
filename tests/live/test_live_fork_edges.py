"""Forks of next to nothing, folds of one message, and what undoing a fold leaves behind."""

import pytest

from session_memory.live import SessionStore
from session_memory.store import Store

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")


def test_a_fork_of_an_empty_session_numbers_its_messages_from_one(live: SessionStore) -> None:
    fork = live.fork_session(live.create_session())
    assert live.append_message(fork, role="user", content="first") == 1
    assert [message.seq for message in live.load_path(fork)] == [1]


def test_a_fork_of_a_subagent_is_a_session_of_its_own(live: SessionStore) -> None:
    root = live.create_session()
    child = live.create_session(parent_session_id=root)
    live.append_message(child, role="user", content="look")
    origin, fork = live.get_session(child), live.get_session(live.fork_session(child))
    assert origin is not None and (origin.spawn_depth, origin.parent_session_id) == (1, root)
    assert fork is not None and (fork.spawn_depth, fork.parent_session_id) == (0, None)


def test_a_single_message_can_be_folded(live: SessionStore) -> None:
    session = live.create_session()
    live.append_messages(session, [{"role": "user", "content": f"m{n}"} for n in range(1, 4)])
    live.record_compaction(session, from_seq=2, to_seq=2, note_content="note")
    assert [message.content for message in live.load_active_messages(session)] == [
        "m1",
        "note",
        "m3",
    ]


@BOTH
def test_undoing_a_fold_changes_the_session_so_that_a_sync_notices(
    live: SessionStore, opened: Store
) -> None:
    session = live.create_session()
    live.append_messages(session, [{"role": "user", "content": f"m{n}"} for n in range(1, 4)])
    live.record_compaction(session, from_seq=1, to_seq=2, note_content="note")
    asked = "select revision from live_sessions"
    before = opened.db.value(asked)
    live.undo_compaction(session)
    assert opened.db.value(asked) == before + 1


def test_a_session_that_begins_with_an_answer_waits_for_the_user(live: SessionStore) -> None:
    session = live.create_session()
    live.append_message(session, role="assistant", content="How can I help?")
    assert live.resume_plan(session).next == "wait_for_user"
