"""What a rebuild makes again besides events: problems, and how many lines were read."""

from contextlib import AbstractContextManager

import pytest

from session_memory.core.time import now_ms
from session_memory.derive.rebuilding import rebuild
from session_memory.store.sources import SourceRow
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collected,
    contents,
    rebuilt,
)


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


def test_a_rebuild_that_is_stopped_leaves_whole_sessions(claude: ClaudeHome) -> None:
    origin = claude.session("alpha")
    origin.prompt("one")
    claude.fork(origin, "beta").prompt("two")
    claude.session("gamma").prompt("three")
    claude.session("delta").prompt("four")
    with collected(claude.write()) as store:
        before = contents(store)
        for stop in range(1, 5):
            seen: list[SourceRow] = []

            def stopping(source: SourceRow, seen: list[SourceRow] = seen, stop: int = stop) -> None:
                seen.append(source)
                if len(seen) == stop:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                rebuild(store, now_ms(), lambda repo, cwd: None, stopping)
            check_same(before, contents(store))
            check_sound(store)
