"""What a rebuild makes again besides events: problems, and how many lines were read."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from session_memory.config import Config
from session_memory.core.time import now_ms
from session_memory.derive import rebuilding
from session_memory.derive.rebuilding import rebuild
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    rebuilt,
)
from session_memory.views.doctor import examine

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


def test_a_rebuild_finds_the_same_problems_and_counts_the_sources(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("one")
    log.raw(b"{broken\n")
    claude.session("beta").prompt("two")
    with collected(claude.write()) as store:
        before, problems = contents(store), store.problems.every()
        assert len(problems) == 1
        report = rebuild(store, now_ms(), lambda repo, cwd: None, lambda source: None)
        assert (report.sources, report.skipped) == (2, {})
        assert len(store.problems.every()) == 1
        check_same(before, contents(store))
        check_sound(store)


def test_a_session_of_which_there_is_only_a_document_keeps_its_title(claude: ClaudeHome) -> None:
    parent = claude.session("alpha")
    parent.prompt("delegate")
    agent = claude.subagent(parent, "a1", below=True, meta={"description": "look around"})
    with collected(claude.write()) as store:
        session = store.sessions.get(agent.uid)
        assert session is not None and session.title == "look around"
        before = contents(store)
        check_same(before, contents(rebuilt(store)))


def test_a_rebuild_lets_other_writers_in_between_its_groups(claude: ClaudeHome) -> None:
    for name in ("alpha", "beta", "gamma"):
        claude.session(name).prompt(name)
    with collected(claude.write()) as store:
        before, begun = contents(store), store.db.transaction
        transactions = 0

        def counted(*, shared: bool = False) -> AbstractContextManager[None]:
            nonlocal transactions
            transactions += 1
            return begun(shared=shared)

        store.db.transaction = counted  # type: ignore[method-assign]
        rebuilt(store)
        assert transactions >= 3
        check_same(before, contents(store))


def home_with_four(claude: ClaudeHome) -> Path:
    origin = claude.session("alpha")
    origin.prompt("one")
    claude.fork(origin, "beta").prompt("two")
    claude.session("gamma").prompt("three")
    claude.session("delta").prompt("four")
    return claude.write()


def rebuilt_up_to(store: Store, stop: int) -> list[int]:
    """Begin a rebuild and stop it when it reads the source number ``stop``. Returns the sources
    that it read."""
    seen: list[int] = []

    def stopping(source: SourceRow) -> None:
        if len(seen) == stop:
            raise KeyboardInterrupt
        seen.append(source.id)

    with pytest.raises(KeyboardInterrupt):
        rebuild(store, now_ms(), lambda repo, cwd: None, stopping)
    return seen


def advice(store: Store) -> list[str | None]:
    """What the doctor says about rebuilding."""
    diagnosis = examine(Config(), ":memory:", store, None, "here")
    return [check.hint for check in diagnosis.checks if check.name == "rebuild"]


@pytest.mark.parametrize("stop", range(4))
def test_a_rebuild_that_is_stopped_leaves_whole_sessions_and_is_continued(
    claude: ClaudeHome, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each group of sessions is read and written alone.
    monkeypatch.setattr(rebuilding, "READ_TOGETHER", 1)
    with collected(home_with_four(claude)) as store:
        before = contents(store)
        read = rebuilt_up_to(store, stop)
        check_same(before, contents(store))
        assert advice(store) == ["Go on with it: session-memory store rebuild"]
        again: list[int] = []
        report = rebuild(
            store, now_ms(), lambda repo, cwd: None, lambda source: again.append(source.id)
        )
        # The group in which it stopped is read again as a whole.
        assert report.sources == len(again) >= 4 - stop
        assert len(again) < 4 or stop < 2
        assert {*read, *again} == {source.id for source in store.sources.every()}
        assert advice(store) == []
        check_same(before, contents(store))
        check_sound(store)
        assert rebuilt(store) is store


def test_small_groups_are_written_together(claude: ClaudeHome) -> None:
    with collected(home_with_four(claude)) as store:
        before = contents(store)
        assert len(rebuilt_up_to(store, 3)) == 3
        check_same(before, contents(store))
        again: list[int] = []
        rebuild(store, now_ms(), lambda repo, cwd: None, lambda source: again.append(source.id))
        # The transaction of all four did not end, so all are read again.
        assert len(again) == 4
        check_same(before, contents(store))
        check_sound(store)


def test_a_sync_after_a_stopped_rebuild_derives_what_is_stale(claude: ClaudeHome) -> None:
    root = home_with_four(claude)
    with collected(root) as store:
        before = contents(store)
        rebuilt_up_to(store, 1)
        collect(store, root)
        assert not store.sessions.stale()
        check_same(before, contents(store))
        check_sound(store)
