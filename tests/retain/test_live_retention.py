"""Retention reaches closed live sessions, finished ephemeral subagents first (SWITCHING 3.58)."""

from collections.abc import Iterator

import pytest
from keeping import Keeper, analyzed

from session_memory.core.live_errors import SessionExists, UnknownLiveSession
from session_memory.live import SessionStore
from session_memory.live.rows import SubagentLifecycle
from session_memory.retain import evict as evicting
from session_memory.retain.archive_check import check_archive
from session_memory.retain.forget import forget
from session_memory.retain.verification import verify
from session_memory.store.live_bundle import dump
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import TranscriptOptions

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

SIZE = 20_000


@pytest.fixture
def live(keeper: Keeper) -> Iterator[SessionStore]:
    with SessionStore.open(keeper.place, durability="normal") as store:
        yield store


def talk(live: SessionStore, session: str) -> None:
    live.append_message(session, role="user", content=f"prompt of {session}")
    live.append_message(session, role="assistant", content="yes " * (SIZE // 4))
    live.record_usage(session, round_index=0, usage={"prompt_tokens": 9, "completion_tokens": 4})


def told(live: SessionStore) -> None:
    """A running session with three finished children, one that runs, and two old sessions."""
    for name in ("top", "old", "forked"):
        talk(live, live.create_session(session_id=name))
    talk(live, live.fork_session("forked", new_id="fork"))
    for name in ("one", "two", "three", "running"):
        child = {"parent_session_id": "top", "lifecycle": SubagentLifecycle.EPHEMERAL}
        talk(live, live.create_session(session_id=name, spawn_tool_call_id="c", **child))  # type: ignore[arg-type]
    for name in ("one", "two", "three"):
        live.finish_subagent(name)
    live.close_session("old")
    live.close_session("forked")


def names(live: SessionStore) -> set[str]:
    return {row[0] for row in live._db.all("select session_id from live_sessions")}


# SWITCHING 3.57, 3.58
def test_closed_sessions_are_archived_by_age_and_restored(
    keeper: Keeper, live: SessionStore
) -> None:
    told(live)
    keeper.collect()
    analyzed(keeper.store)
    with keeper.store.transaction():
        keeper.store.retention.pin("live:three", 1)
    before, rows = (
        keeper.store.fingerprint(),
        {one: list(dump(live._db, one)) for one in names(live)},
    )
    cost = keeper.store.db.value("select sum(output_tokens) from usage")
    dry = keeper.retain(dry_run=True)
    done = keeper.retain()
    gone = {uid for one in done.gone for uid in one.sessions}
    assert gone == {"live:one", "live:two", "live:old"}
    assert gone == {uid for one in dry.gone for uid in one.sessions}
    # Running, pinned and forked ones stay.
    assert names(live) == {"top", "forked", "fork", "running", "three"}
    assert done.report.bytes_freed >= 3 * SIZE
    assert keeper.store.db.value("select sum(output_tokens) from usage") == cost
    assert keeper.retain().gone == []
    keeper.collect()
    assert names(live) == {"top", "forked", "fork", "running", "three"}
    assert verify(keeper.store).findings == []
    assert check_archive(keeper.store, keeper.config).findings == []
    for ask in (live.load_all_messages, live.reopen_session, live.head, live.usage_totals):
        with pytest.raises(UnknownLiveSession, match="is archived") as error:
            ask("one")
        assert "session-memory restore live:one" in str(error.value.hint)
    with pytest.raises(SessionExists, match="is archived"):
        live.create_session(session_id="one")
    keeper.restore()
    assert {one: list(dump(live._db, one)) for one in names(live)} == rows
    keeper.collect()
    assert keeper.store.fingerprint() == before
    assert verify(keeper.store).findings == []
    live.reopen_session("one")
    live.append_message("one", role="user", content="and on")


# SWITCHING 3.58
def test_caps_take_finished_children_first(keeper: Keeper, live: SessionStore) -> None:
    talk(live, live.create_session(session_id="old"))
    live.close_session("old")
    told_later = live.create_session(session_id="top")
    for name in ("one", "two"):
        talk(live, live.create_session(session_id=name, parent_session_id=told_later))
        live.finish_subagent(name)
    keeper.collect()
    analyzed(keeper.store)
    keeper.limits.raw_max_age_days = 10_000
    keeper.limits.raw_soft_cap_bytes = keeper.store.retention.used_bytes() - SIZE * 3 // 2
    done = keeper.retain()
    assert [one.sessions for one in done.gone] == [("live:one",), ("live:two",)]
    assert not done.report.over_hard_cap
    assert names(live) == {"old", "top"}
    keeper.limits.raw_soft_cap_bytes = 0
    assert [one.sessions for one in keeper.retain().gone] == [("live:old",)]


def test_what_was_not_analyzed_or_not_collected_stays(keeper: Keeper, live: SessionStore) -> None:
    told(live)
    keeper.collect()
    assert keeper.retain().gone == []
    analyzed(keeper.store)
    live.reopen_session("old")
    live.append_message("old", role="user", content="more")
    live.close_session("old")
    live.reopen_session("one")
    gone = {uid for one in keeper.retain().gone for uid in one.sessions}
    assert gone == {"live:two", "live:three"}


@pytest.mark.parametrize("change", ["reopen", "take the id", "pin", "fork"])
def test_a_session_that_changes_meanwhile_stays(
    keeper: Keeper, live: SessionStore, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    talk(live, live.create_session(session_id="old"))
    live.close_session("old")
    keeper.collect()
    analyzed(keeper.store)
    sharing = evicting._sharing

    def changed(*args: object) -> object:
        if change == "reopen":
            live.reopen_session("old")
        elif change == "fork":
            live.fork_session("old", new_id="fork")
        elif change == "pin":
            with keeper.store.transaction():
                keeper.store.retention.pin("live:old", 1)
        else:
            live.create_session(session_id="old")
        return sharing(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(evicting, "_sharing", changed)
    assert keeper.retain().gone == []
    assert "old" in names(live)
    assert live._db.value("select count(*) from live_messages") == 2
    assert verify(keeper.store).findings == []


# Killed after the archive was written, before the rows were deleted.
def test_a_killed_run_is_done_again(
    keeper: Keeper, live: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(live)
    keeper.collect()
    analyzed(keeper.store)
    before = names(live)

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evicting, "delete_live", killed)
    with pytest.raises(KeyboardInterrupt):
        keeper.retain()
    assert names(live) == before
    monkeypatch.undo()
    assert len(keeper.retain().gone) == 4
    assert len(list(keeper.archive.glob("*.tar"))) == 1


@pytest.mark.only("sqlite")
def test_an_evicted_live_session_is_shown_from_the_archive_and_forgotten(
    keeper: Keeper, live: SessionStore
) -> None:
    told(live)
    keeper.collect()
    analyzed(keeper.store)
    keeper.retain()
    keeper.store.archive_dir = lambda: str(keeper.archive)
    items = list(Transcript(keeper.store, TranscriptOptions()).items("live:old"))
    assert "prompt of old" in str(items)
    done = forget(keeper.store, keeper.config, ["live:old"], 5)
    assert not done.proof.found, done.proof
    assert keeper.store.sessions.row("live:old") is None
    # Its id is free.
    talk(live, live.create_session(session_id="old"))
    keeper.collect()
    assert keeper.store.sessions.row("live:old") is not None
