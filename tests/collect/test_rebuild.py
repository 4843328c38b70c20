"""What a rebuild makes again besides events: problems, and how many lines were read."""

from session_memory.core.time import now_ms
from session_memory.derive.rebuilding import rebuild
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import check_same, check_sound, collected, contents


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
