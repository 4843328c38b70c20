"""Messages: in and out exactly, once, at the head believed in, by whoever may write."""

import math
from typing import Any

import pytest

from session_memory.core.errors import InvalidRecord
from session_memory.core.live_errors import HeadMoved, LeaseHeld, LeaseLost
from session_memory.live import MessageRow, SessionStore
from session_memory.live.connection import now
from session_memory.live.message_encoding import LONGEST_INLINE
from session_memory.store import Store
from session_memory.store.live_check import live_findings

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

HOSTILE = "NUL \0, half \ud800 and \udcff, :name %s %(x)s '' \\u0000 \\ {keys} \U0001f30a \u202e"
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "hello"},
    {"type": "thinking", "thinking": "hm", "signature": "s=="},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    {"type": "document", "source": {"type": "text", "data": "d"}, "title": None},
    {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls", "n": 1.5}},
    {
        "type": "tool_result",
        "tool_use_id": "c1",
        "model_text": "a",
        "display_text": "b",
        "is_error": False,
    },
]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"a": 1}'}}]
SHAPES: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"role": "user", "content": ""},
    {"role": "user", "content": None},
    {"role": "user", "content": []},
    {"role": "assistant", "content": BLOCKS},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "assistant", "content": "I look.", "tool_calls": CALLS, "round_index": 3},
    {"role": "tool", "content": "a.py", "tool_call_id": "c1", "name": "bash"},
    {"role": "user", "content": HOSTILE},
    {"role": "user", "content": [{"type": "text", "text": HOSTILE}]},
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": HOSTILE}}]},
    {"role": "user", "content": "x" * (LONGEST_INLINE + 1)},
    {"role": "user", "content": HOSTILE + "\u00e9" * LONGEST_INLINE},
    {"role": "user", "content": [{"type": "text", "text": HOSTILE * 5000}], "tool_calls": CALLS},
    {"role": "user", "content": "x", "meta": {"deep": [{"n": 2**70, "none": None, "t": HOSTILE}]}},
    {"role": "user", "content": "x", "meta": {"inf": math.inf, "stands_after": 1}},
]


def plain(message: MessageRow) -> dict[str, Any]:
    names = ("role", "content", "tool_calls", "tool_call_id", "name", "round_index")
    fields = {name: getattr(message, name) for name in names}
    return fields | {"meta": message.meta}


def whole(message: dict[str, Any]) -> dict[str, Any]:
    names = ("role", "content", "tool_calls", "tool_call_id", "name", "round_index")
    return {name: message.get(name) for name in names} | {"meta": message.get("meta") or {}}


def test_both_shapes_come_back_exactly_as_they_went_in(live: SessionStore, opened: Store) -> None:
    session = live.create_session()
    assert live.append_messages(session, SHAPES) == list(range(1, len(SHAPES) + 1))
    for message in SHAPES:
        live.append_message(session, **message)
    read = [plain(message) for message in live.load_active_messages(session)]
    assert read == [whole(message) for message in SHAPES * 2]
    for seq, message in enumerate(SHAPES, start=1):
        one = live.get_message(session, seq)
        assert one is not None and plain(one) == whole(message)
    assert list(live_findings(opened.db)) == []


def test_nan_stays_nan(live: SessionStore) -> None:
    session = live.create_session(metadata={"score": math.nan})
    live.append_message(session, role="user", content="x", meta={"score": math.nan, "n": None})
    [message] = live.load_active_messages(session)
    assert math.isnan(message.meta["score"]) and message.meta["n"] is None
    row = live.get_session(session)
    assert row is not None and math.isnan(row.metadata["score"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("role", ""),
        ("role", None),
        ("role", 7),
        ("content", object()),
        ("content", [{"text": {1, object()}}]),
        ("tool_calls", "c1"),
        ("tool_calls", {"id": "c1"}),
        ("tool_call_id", 7),
        ("name", b"x"),
        ("meta", ["x"]),
        ("meta", {"x": object()}),
        ("round_index", "2"),
    ],
)
def test_what_could_not_be_read_back_is_refused_before_it_is_written(
    live: SessionStore, field: str, value: Any
) -> None:
    session = live.create_session()
    good = {"role": "user", "content": "x"}
    with pytest.raises(InvalidRecord, match=field):
        live.append_message(session, **{**good, field: value})
    with pytest.raises(InvalidRecord, match=field):
        live.append_messages(session, [good, {**good, field: value}])
    assert live.load_all_messages(session) == [] and live.head(session) == 0


@BOTH
def test_strange_calls_and_blocks_do_not_wedge_a_session(live: SessionStore) -> None:
    session = live.create_session()
    strange: list[Any] = [None, "x", 7, {}, {"id": 7}, {"id": "a", "function": "f"}]
    live.append_message(session, role="assistant", tool_calls=strange, content=strange)
    blocks = [{"type": "tool_use"}, {"type": "tool_use", "id": None}, {"type": "tool_result"}]
    live.append_message(session, role="assistant", content=blocks)
    assert [call.call_id for call in live.pending(session)] == ["a"]
    assert live.repair(session) == [3]
    assert [message.seq for message in live.load_path(session)] == [1, 3, 2]


@BOTH
def test_a_long_body_is_kept_once_and_its_row_has_a_preview(
    live: SessionStore, opened: Store
) -> None:
    session = live.create_session()
    body = "line\n" * 50_000
    for _ in range(3):
        live.append_message(session, role="tool", tool_call_id="c", content=body)
    assert [message.content for message in live.load_tail(session)] == [body] * 3
    assert opened.db.value("select count(*) from live_bodies") == 1
    assert opened.db.value("select max(length(content)) from live_messages") == 2000
    with opened.transaction():
        opened.db.execute("update live_bodies set body = :body", {"body": b"x"})
    assert "cannot be unpacked" in " ".join(live_findings(opened.db))


# ------------------------------------------------------------ once, at the head believed in


def test_a_key_makes_a_repeated_append_a_no_op(live: SessionStore) -> None:
    session = live.create_session()
    pair = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert live.append_messages(session, pair, key="k" * 10_000) == [1, 2]
    assert live.append_message(session, role="user", content="c", key="\0\ud800") == 3
    assert live.append_messages(session, pair, key="k" * 10_000) == [1, 2]
    assert live.append_messages(session, pair[:1], key="k" * 10_000) == [1, 2]
    assert live.append_message(session, role="user", content="c", key="\0\ud800") == 3
    assert live.head(session) == 3
    other = live.create_session()
    assert live.append_message(other, role="user", content="c", key="k" * 10_000) == 1


def test_an_append_at_a_head_that_moved_is_refused(live: SessionStore) -> None:
    session = live.create_session()
    assert live.append_message(session, role="user", content="a", expect=0) == 1
    for change in (
        lambda: live.append_message(session, role="user", content="b", expect=0),
        lambda: live.rewind(session, 0, expect=7),
        lambda: live.record_compaction(session, from_seq=1, to_seq=1, note_content="n", expect=0),
    ):
        with pytest.raises(HeadMoved, match="at message 1, not at"):
            change()
    assert live.append_message(session, role="user", content="b", expect=1) == 2


# ------------------------------------------------------------ leases


@BOTH
def test_a_dispossessed_owners_write_succeeded(live: SessionStore) -> None:
    session = live.create_session()
    live.append_message(session, role="user", content="a")
    live.append_message(session, role="user", content="b")
    live.record_compaction(session, from_seq=1, to_seq=2, note_content="n")
    live.rewind(session, 1)
    old = live.acquire_lease(session, "one", ttl_ms=-1)
    new = live.acquire_lease(session, "two")
    assert new.fence > old.fence
    fence = old.fence
    message = {"role": "user", "content": "x"}
    before = live.load_all_messages(session), live.get_session(session)
    for change in (
        lambda: live.append_message(session, role="user", content="x", fence=fence),
        lambda: live.append_messages(session, [message], fence=fence),
        lambda: live.rewind(session, 0, fence=fence),
        lambda: live.undo_rewind(session, fence=fence),
        lambda: live.return_to(session, 2, fence=fence),
        lambda: live.clear_session(session, fence=fence),
        lambda: live.record_compaction(
            session, from_seq=1, to_seq=1, note_content="n", fence=fence
        ),
        lambda: live.undo_compaction(session, fence=fence),
        lambda: live.repair(session, fence=fence),
        lambda: live.abort_pending(session, fence=fence),
        lambda: live.set_round_index(session, 1, fence=fence),
        lambda: live.begin_send(session, fence=fence),
        lambda: live.record_usage(session, round_index=0, fence=fence),
        lambda: live.update_session_prompt(session, "p", fence=fence),
        lambda: live.rename_session(session, "t", fence=fence),
        lambda: live.archive_session(session, fence=fence),
        lambda: live.close_session(session, fence=fence),
        lambda: live.renew_lease(old),
    ):
        with pytest.raises(LeaseLost, match="the fence is 2 now"):
            change()
    assert (live.load_all_messages(session), live.get_session(session)) == before
    assert live.release_lease(old) is False
    assert live.append_message(session, role="user", content="x", fence=new.fence) == 4


@BOTH
def test_while_a_lease_is_held_nobody_else_writes(live: SessionStore) -> None:
    session = live.create_session()
    lease = live.acquire_lease(session, "one", ttl_ms=60_000)
    with pytest.raises(LeaseHeld, match="leased to 'one'"):
        live.append_message(session, role="user", content="x")
    with pytest.raises(LeaseHeld):
        live.acquire_lease(session, "two")
    holder = live.lease_holder(session)
    assert holder is not None and (holder.owner, holder.fence) == ("one", lease.fence)
    assert live.append_message(session, role="user", content="x", fence=lease.fence) == 1
    assert live.renew_lease(lease, ttl_ms=120_000).until > lease.until
    assert live.release_lease(lease) is True
    assert live.lease_holder(session) is None
    assert live.append_message(session, role="user", content="y") == 2
    with pytest.raises(LeaseLost):
        live.append_message(session, role="user", content="z", fence=lease.fence)


def test_a_lease_that_ran_out_opens_the_session_again(live: SessionStore) -> None:
    session = live.create_session()
    lease = live.acquire_lease(session, "one", ttl_ms=0)
    assert lease.until <= now()
    assert live.append_message(session, role="user", content="x") == 1
    # Until somebody takes it over, its owner may still write too.
    assert live.append_message(session, role="user", content="y", fence=lease.fence) == 2


def test_a_person_can_take_a_lease_whose_owner_is_gone(live: SessionStore) -> None:
    session = live.create_session()
    gone = live.acquire_lease(session, "one", ttl_ms=86_400_000)
    with pytest.raises(InvalidRecord, match="a day"):
        live.renew_lease(gone, ttl_ms=86_400_001)
    mine = live.acquire_lease(session, "two", force=True)
    assert mine.fence == gone.fence + 1
    with pytest.raises(LeaseLost):
        live.append_message(session, role="user", content="x", fence=gone.fence)


# ------------------------------------------------------------ tails


def test_a_tail_is_the_end_of_the_path_wherever_its_lanes_lie(live: SessionStore) -> None:
    session = live.create_session()
    live.append_messages(session, [{"role": "user", "content": str(n)} for n in range(1, 11)])
    live.rewind(session, 8)
    live.append_message(session, role="user", content="eleven")
    fork = live.fork_session(session)
    live.append_message(fork, role="user", content="twelve")
    assert [m.seq for m in live.load_tail(session, 4)] == [6, 7, 8, 11]
    assert [m.seq for m in live.load_tail(fork, 4)] == [7, 8, 11, 12]
    assert [m.seq for m in live.load_tail(fork, 100)] == [*range(1, 9), 11, 12]
    assert live.load_tail(fork, 0) == []
