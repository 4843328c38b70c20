"""A failure that was wanted: a change is taken away, a check runs, and the change comes back."""

import pytest

from session_memory.learn.digest.experiments import is_experiment
from session_memory.testing.claude import ClaudeHome, call

from .sessions import digest_of_log

pytestmark = pytest.mark.only("sqlite")


@pytest.mark.parametrize(
    "text",
    [
        "git stash push -- a.go && go test ./a 2>&1 | tail -8; echo back; git stash pop",
        "git stash; pytest -q tests/test_a.py; git stash pop",
        "git show HEAD~1:a/b.go > a/b.go && go test -run x ./a; git checkout a/b.go",
        "sed -i 's/>=/>/' src/a.py && pytest -q; git checkout -- src/a.py",
        "perl -0pi -e 's/a/b/' src/a.rs && cargo test; git restore src/a.rs",
        "git checkout HEAD~2 -- src/a.ts && npm test; git checkout HEAD -- src/a.ts",
    ],
)
def test_a_change_that_is_taken_back_is_an_experiment(text: str) -> None:
    assert is_experiment(text)


@pytest.mark.parametrize(
    "text",
    [
        "pytest -q",
        "git stash pop",
        "git stash list; go test ./...; git stash pop",
        "git checkout main && npm test",
        "npm test; git checkout -- package-lock.json",
        "sed -i 's/a/b/' src/a.py && pytest -q",
        "git checkout -- src/a.py && pytest -q",
    ],
)
def test_what_leaves_a_change_or_makes_none_is_no_experiment(text: str) -> None:
    assert not is_experiment(text)


def test_the_failure_of_an_experiment_is_neither_an_error_nor_a_verdict(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("add a test for the old mistake")
    log.answer(call("Bash", command="go test ./a"))
    log.result("ok  \texample.com/a\t0.021s")
    log.answer(call("Bash", command="git stash push -- a.go && go test ./a; git stash pop"))
    log.result(
        "Exit code 1\n--- FAIL: TestOld (0.00s)\n    a_test.go:3: got 1, want 2", is_error=True
    )
    log.answer("The test notices the old mistake.")
    digest = digest_of_log(claude, log)
    assert digest.error_snippets == ()
    assert (digest.outcome.outcome, digest.outcome.reason) == ("success", "tests")
