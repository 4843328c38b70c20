"""Rewind, undo, clear, return, fork, fold and unfold: nothing is lost, everything comes back."""

from typing import Any

import pytest

from session_memory.core.live_errors import (
    CannotFold,
    CannotUnfold,
    NothingToUndo,
    NotOnPath,
)
from session_memory.live import MessageState, SessionStore
from session_memory.live.branches import _runs

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")


def said(live: SessionStore, count: int = 6) -> str:
    session = live.create_session()
    live.append_messages(session, [{"role": "user", "content": f"m{n + 1}"} for n in range(count)])
    return session


def path(live: SessionStore, session: str) -> list[int]:
    return [message.seq for message in live.load_path(session)]


def seen(live: SessionStore, session: str) -> list[int]:
    return [message.seq for message in live.load_active_messages(session)]


@BOTH
def test_rewound_messages_stay_and_can_be_come_back_to(live: SessionStore) -> None:
    session = said(live)
    assert live.rewind(session, 2) == 6
    assert live.append_message(session, role="user", content="m7") == 7
    assert path(live, session) == [1, 2, 7]
    states = {message.seq: message.state for message in live.load_all_messages(session)}
    assert states[4] == MessageState.REWOUND and states[7] == MessageState.ACTIVE
    left = live.get_message(session, 4)
    assert left is not None and (left.content, left.state) == ("m4", MessageState.REWOUND)
    assert live.undo_rewind(session) == 6
    assert path(live, session) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(NothingToUndo):
        live.undo_rewind(session)
    live.return_to(session, 7)
    assert path(live, session) == [1, 2, 7]
    assert live.undo_rewind(session) == 6


def test_undo_goes_back_move_by_move(live: SessionStore) -> None:
    session = said(live)
    live.rewind(session, 5)
    live.rewind(session, 3)
    live.clear_session(session)
    assert path(live, session) == []
    for head in (3, 5, 6):
        assert live.undo_rewind(session) == head
        assert path(live, session) == list(range(1, head + 1))


@pytest.mark.parametrize("to", [-1, "2", 2.0, None, True, 7, 10**30, [2]])
def test_rewind_minus_one_cut_from_the_end(live: SessionStore, to: Any) -> None:
    session = said(live)
    for move in (live.rewind, live.return_to):
        with pytest.raises(NotOnPath):
            move(session, to)
    if to is not None:
        with pytest.raises(NotOnPath):
            live.fork_session(session, at=to)
    assert path(live, session) == [1, 2, 3, 4, 5, 6]


def test_a_rewind_leads_only_to_what_is_on_the_path(live: SessionStore) -> None:
    session = said(live)
    live.rewind(session, 3)
    with pytest.raises(NotOnPath):
        live.rewind(session, 5)


@BOTH
def test_a_fork_shares_its_past_and_nothing_after(live: SessionStore) -> None:
    session = said(live)
    fork = live.fork_session(session, at=3, title="what if")
    assert live.append_message(fork, role="user", content="other") == 4
    live.append_message(session, role="user", content="m7")
    assert path(live, fork) == [1, 2, 3, 4]
    row = live.get_session(fork)
    assert row is not None
    assert (row.title, row.forked_from, row.forked_at) == ("what if", session, 3)
    assert (row.kind, row.parent_session_id) == ("root", None)
    assert [m.content for m in live.load_active_messages(fork)] == ["m1", "m2", "m3", "other"]
    assert live.get_message(fork, 4).content == "other"  # type: ignore[union-attr]
    assert live.get_message(fork, 5) is None
    live.close_session(session)
    assert len(live.load_active_messages(fork)) == 4


@BOTH
def test_a_fork_that_is_rewound_into_the_past_it_shares_keeps_it(live: SessionStore) -> None:
    session = said(live)
    fork = live.fork_session(session, at=4)
    live.rewind(fork, 2)
    live.append_message(fork, role="user", content="x")
    assert path(live, fork) == [1, 2, 5]
    assert [message.seq for message in live.load_all_messages(fork)] == [1, 2, 3, 4, 5]
    left = live.get_message(fork, 4)
    assert left is not None and left.state == MessageState.REWOUND
    live.return_to(fork, 4)
    assert path(live, fork) == [1, 2, 3, 4]


def test_a_fork_of_an_archived_session_can_go_on(live: SessionStore) -> None:
    session = said(live)
    live.archive_session(session)
    assert live.append_message(live.fork_session(session), role="user", content="x") == 7


@BOTH
def test_a_fork_takes_its_folds_along_and_they_go_separate_ways(live: SessionStore) -> None:
    session = said(live)
    fold, note = live.record_compaction(session, from_seq=1, to_seq=4, note_content="four")
    fork = live.fork_session(session)
    before = live.fork_session(session, at=3)
    assert seen(live, fork) == [note, 5, 6]
    assert seen(live, before) == [1, 2, 3]
    assert live.append_message(fork, role="user", content="x") == 8
    assert live.append_message(before, role="user", content="x") == 4
    live.undo_compaction(fork)
    assert seen(live, fork) == [1, 2, 3, 4, 5, 6, 8]
    assert seen(live, session) == [note, 5, 6]
    assert live.get_message(fork, note).content == "four"  # type: ignore[union-attr]
    assert [row.is_undone for row in live.list_compactions(fork)] == [True]
    assert live.record_compaction(fork, from_seq=1, to_seq=2, note_content="n") == (fold + 1, 9)


# ------------------------------------------------------------ folds


def test_the_compaction_note_reloaded_after_the_tail_it_precedes(live: SessionStore) -> None:
    session = said(live)
    compact, note = live.record_compaction(
        session,
        from_seq=1,
        to_seq=4,
        note_content="they said four things",
        before_tokens=400,
        after_tokens=20,
        round_index=2,
        note_meta={"by": "me"},
    )
    assert (compact, note) == (1, 7)
    first, *rest = live.load_active_messages(session)
    assert (first.seq, first.role, first.name) == (7, "system", "compact_note")
    assert first.meta == {
        "by": "me",
        "compacted_at_round": 2,
        "from_seq": 1,
        "to_seq": 4,
        "original_tokens": 400,
        "summary_tokens": 20,
    }
    assert [message.seq for message in rest] == [5, 6]
    states = {message.seq: message.state for message in live.load_all_messages(session)}
    assert [states[n] for n in (1, 4, 5, 7)] == [
        *([MessageState.COMPACTED_OUT] * 2),
        *([MessageState.ACTIVE] * 2),
    ]


def test_the_second_compaction_had_from_after_to_and_folded_nothing(live: SessionStore) -> None:
    session = said(live)
    _, note = live.record_compaction(session, from_seq=1, to_seq=4, note_content="one")
    live.append_messages(session, [{"role": "user", "content": "x"}] * 3)
    fold, second = live.record_compaction(session, from_seq=note, to_seq=8, note_content="two")
    assert seen(live, session) == [second, 9, 10]
    [_, row] = live.list_compactions(session)
    assert row.members == [note, 5, 6, 8]
    with pytest.raises(CannotUnfold, match="fold 2 contains its note"):
        live.undo_compaction(session, 1)
    assert live.undo_compaction(session) == fold
    assert seen(live, session) == [note, 5, 6, 8, 9, 10]
    live.undo_compaction(session)
    assert seen(live, session) == path(live, session) == [1, 2, 3, 4, 5, 6, 8, 9, 10]
    with pytest.raises(CannotUnfold):
        live.undo_compaction(session)


def test_recalled_memory_shifted_which_rows_a_compaction_folded(live: SessionStore) -> None:
    """What a runtime puts into its request beside the history changes nothing: rows are named."""
    session = said(live)
    sent = [{"role": "system", "content": "recalled"}, *live.load_active_messages(session)]
    folded = [message for message in sent[1:4] if not isinstance(message, dict)]
    live.record_compaction(
        session,
        from_seq=folded[0].seq,
        to_seq=folded[-1].seq,
        note_content="n",
        members=[message.seq for message in folded],
    )
    assert seen(live, session) == [7, 4, 5, 6]


def test_what_is_appended_while_a_summary_is_written_is_not_folded(live: SessionStore) -> None:
    session = said(live)
    plan = live.plan_compaction(session, keep=2)
    live.append_message(session, role="user", content="meanwhile")
    fields = {"from_seq": plan.from_seq, "to_seq": plan.to_seq, "members": plan.members}
    live.record_compaction(session, note_content="n", **fields)
    assert seen(live, session) == [8, 5, 6, 7]


@pytest.mark.parametrize(
    ("ends", "members"),
    [((0, 3), None), ((1, 99), None), ((4, 2), None), ((1, 3), [1, 3, 5]), ((1, 3), [2, 3])],
)
def test_a_fold_of_what_is_not_there_is_refused(
    live: SessionStore, ends: tuple[int, int], members: list[int] | None
) -> None:
    session = said(live)
    with pytest.raises(CannotFold):
        live.record_compaction(
            session, from_seq=ends[0], to_seq=ends[1], note_content="n", members=members
        )
    assert live.list_compactions(session) == [] and live.head(session) == 6


def test_a_fold_never_parts_a_call_from_its_result_not_even_from_one_to_come(
    live: SessionStore,
) -> None:
    session = live.create_session()
    live.append_message(session, role="user", content="go")
    live.append_message(session, role="assistant", tool_calls=[{"id": "a"}, {"id": "b"}])
    live.append_message(session, role="tool", tool_call_id="a", content="A")
    fields: dict[str, Any] = {"from_seq": 1, "note_content": "n"}
    for last in (2, 3):
        with pytest.raises(CannotFold, match="separate a call"):
            live.record_compaction(session, to_seq=last, members=range(1, last + 1), **fields)
        # Without a list of members, the calls that it would part stay in the context.
        live.record_compaction(session, to_seq=last, **fields)
        assert live.list_compactions(session)[-1].members == [1]
        assert seen(live, session)[1:] == [2, 3]
        live.undo_compaction(session)
    live.append_message(session, role="tool", tool_call_id="b", content="B")
    last = live.head(session)
    # A range of results alone is folded with their call.
    _, first = live.record_compaction(session, from_seq=3, to_seq=last, note_content="n")
    assert live.list_compactions(session)[-1].members == [2, 3, last]
    assert seen(live, session) == [1, first]
    # An end that is folded already stands for its note.
    _, second = live.record_compaction(session, to_seq=last, **fields)
    assert live.list_compactions(session)[-1].members == [1, first]
    assert seen(live, session) == [second]
    _, third = live.record_compaction(session, from_seq=2, to_seq=3, note_content="n")
    assert seen(live, session) == [third]
    with pytest.raises(CannotFold, match="not in the context"):
        live.record_compaction(session, from_seq=1, to_seq=1, note_content="n", members=[1])


def test_an_open_call_alone_cannot_be_folded(live: SessionStore) -> None:
    session = live.create_session()
    live.append_message(session, role="assistant", tool_calls=[{"id": "a"}])
    with pytest.raises(CannotFold, match="separate a call"):
        live.record_compaction(session, from_seq=1, to_seq=1, note_content="n")


def test_a_rewind_into_folded_messages_shows_them_again(live: SessionStore) -> None:
    session = said(live)
    live.record_compaction(session, from_seq=1, to_seq=4, note_content="n")
    live.rewind(session, 2)
    assert seen(live, session) == [1, 2]
    live.undo_rewind(session)
    assert seen(live, session) == [7, 5, 6]


def test_loading_the_context_reads_nothing_that_lies_behind_a_note() -> None:
    assert _runs([1, 2, 3, 4, 5, 6], {1, 2, 3}) == [(4, 6)]
    assert _runs([1, 2, 5, 6, 7], {5}) == [(1, 2), (6, 7)]
    assert _runs([1, 2], {1, 2}) == []
    assert _runs(range(100), set(range(0, 100, 2))) == [(1, 99)]
