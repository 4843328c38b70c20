"""Evicting makes the whole smaller: the store and its archive together."""

from pathlib import Path

import pytest
from keeping import Keeper, analyzed, talk

from session_memory.core.errors import StoreError
from session_memory.memory.retention import run_due_retention
from session_memory.retain.retention_run import RetentionOutcome
from session_memory.store.sqlite_shrink import INCREMENTAL

pytestmark = pytest.mark.only("sqlite")


def whole(keeper: Keeper) -> int:
    keeper.store.db.checkpoint()  # type: ignore[attr-defined]
    store = Path(keeper.place).stat().st_size
    archive = sum(one.stat().st_size for one in keeper.archive.glob("*.tar"))
    return store + archive


def long_sessions(keeper: Keeper, *names: str) -> None:
    for name in names:
        talk(keeper.claude.session(name), *(f"{name}-{one} {one * 7919}" for one in range(200)))
    keeper.collect()


def test_each_eviction_makes_the_whole_smaller(keeper: Keeper) -> None:
    long_sessions(keeper, "alpha", "beta", "gamma")
    before = whole(keeper)
    for uid in ("claude:alpha", "claude:beta"):
        keeper.evict(uid)
        assert whole(keeper) < before
        before = whole(keeper)
        # So the file is not rewritten.
        assert keeper.store.db.value("pragma auto_vacuum") == INCREMENTAL
        assert keeper.store.db.value("pragma freelist_count") == 0
    keeper.restore()
    assert not keeper.store.db.check()


def test_space_that_cannot_be_given_back_is_said(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise StoreError("the disk is full")

    long_sessions(keeper, "alpha")
    monkeypatch.setattr(keeper.store.db, "shrink", full)
    outcome: RetentionOutcome = keeper.evict("claude:alpha")
    assert outcome.not_shrunk == "the disk is full"
    assert keeper.store.retention.count_evicted() == 1


def test_a_dictionary_is_not_copied_for_the_sake_of_a_small_session(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_sessions(keeper, "alpha", "beta")
    keeper.limits.after_sync = True
    monkeypatch.setattr(keeper.store.retention, "is_due", lambda now: True)
    monkeypatch.setattr("session_memory.memory.retention.now_ms", lambda: 1 << 42)
    size = keeper.store.retention.used_bytes()
    for uid in keeper.store.sessions.uids():
        with keeper.store.transaction():
            keeper.store.db.execute(
                "update sessions set analyzed_revision = revision where uid = :uid", {"uid": uid}
            )
    monkeypatch.setattr(keeper.store.retention, "dictionaries_of", lambda sources: {1: 10 * size})
    assert run_due_retention(keeper.store, keeper.config).outcome.gone == []  # type: ignore[union-attr]
    monkeypatch.setattr(keeper.store.retention, "dictionaries_of", lambda sources: {1: size // 5})
    assert run_due_retention(keeper.store, keeper.config).outcome.gone  # type: ignore[union-attr]


def test_dictionaries_are_read_once_however_many_logs_are_evicted(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = " ".join(str(one * 7919) for one in range(20_000))
    for number in range(8):
        talk(keeper.claude.session(f"alike-{number}"), f"{alike} {number}")
    keeper.collect()
    analyzed(keeper.store)
    with_one = "select count(*) from packs where dictionary_id is not null"
    assert keeper.store.db.value(with_one) > 4
    reads, really = [], keeper.store.retention.dictionaries

    def dictionaries() -> list[tuple[int, str, bytes]]:
        reads.append(1)
        return really()

    monkeypatch.setattr(keeper.store.retention, "dictionaries", dictionaries)
    keeper.retain()
    assert keeper.store.retention.count_evicted() == 8
    assert len(reads) == 2  # Once for their names, once for their bytes.
    keeper.restore()
    assert len(reads) == 2


@pytest.mark.parametrize(
    ("sessions", "words", "goes"),
    [(1, 2, False), (1, 20, False), (5, 10, False), (20, 10, True), (40, 5, False), (2, 60, True)],
)
def test_sessions_that_would_make_the_whole_larger_stay(
    keeper: Keeper, sessions: int, words: int, goes: bool
) -> None:
    for number in range(sessions):
        said = (f"{number}-{one} again and again {one * 7919}" for one in range(words))
        talk(keeper.claude.session(f"small-{number}"), *said)
    keeper.collect()
    analyzed(keeper.store)
    keeper.store.db.shrink()
    before = whole(keeper)
    outcome = keeper.retain(patient=True)
    assert len(outcome.gone) == (sessions if goes else 0)
    assert outcome.report.too_small == (0 if goes else sessions)
    assert whole(keeper) < before if goes else whole(keeper) == before


@pytest.mark.only("sqlite", "postgresql")
def test_a_cap_takes_a_newer_session_if_the_older_one_is_too_small(keeper: Keeper) -> None:
    talk(keeper.claude.session("old"), "hello")
    long_sessions(keeper, "new")
    analyzed(keeper.store)
    keeper.limits.raw_max_age_days, keeper.limits.raw_soft_cap_bytes = 40_000, 1000
    outcome = keeper.retain(patient=True)
    assert [one.sessions for one in outcome.gone] == [("claude:new",)]
    assert outcome.report.too_small == 1


@pytest.mark.only("sqlite", "postgresql")
def test_the_dictionaries_of_sources_are_known_by_size(keeper: Keeper) -> None:
    long_sessions(keeper, "alpha", "beta")
    store = keeper.store
    with store.transaction():
        number = store.retention.dictionary("claude", b"12345")
        store.db.execute("update packs set dictionary_id = :id", {"id": number})
    sources = [row.id for row in store.sources.every()]
    assert store.retention.dictionaries_of(sources) == {number: 5}
    assert store.retention.dictionaries_of([]) == {}
