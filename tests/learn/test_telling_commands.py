"""The commands that an answer shows: those that did something, without what shortens an output."""

import pytest

from session_memory.learn.digest import CommandUse, Digest, SessionCost, SessionOutcome
from session_memory.views.telling_commands import telling_commands

pytestmark = pytest.mark.only("sqlite")


def shown(*texts: str, asked: tuple[str, ...] = ()) -> tuple[str, ...]:
    commands = tuple(CommandUse(text, 1, 0, 0, "e:0") for text in texts)
    outcome = SessionOutcome("success", "tests")
    digest = Digest(
        session_uid="claude:a",
        flavor="claude",
        outcome=outcome,
        cost=SessionCost(),
        commands=commands,
    )
    return telling_commands(digest, asked, 10)


@pytest.mark.parametrize(
    "text",
    [
        "git status --short",
        "git -C /home/mira/code diff -- a.py",
        "sudo git log",
        "ls src && cat a.py | tail -3",
        "ls src && cat a.py | …",
        "nl -ba a.py | sed -n '1,20p'",
        "git add a.py && git commit -m 'work'",
        "python3 -c 'print(1)'",
        "python3 - <<'PY' import sys print(sys.path) PY",
        "test -f a.py",
        "…",
    ],
)
def test_a_command_that_only_looks_or_commits_is_not_shown(text: str) -> None:
    assert shown(text) == ()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("cd /home/mira/code && make test 2>&1 | tail -5", "make test"),
        ("npm run test > /dev/null", "npm run test"),
        ("go test ./... | grep FAIL | head", "go test ./..."),
        ("git push origin main", "git push origin main"),
        ("python3 tools/migrate.py", "python3 tools/migrate.py"),
    ],
)
def test_a_command_is_shown_without_what_shortens_its_output(text: str, result: str) -> None:
    assert shown(text) == (result,)


def test_equal_commands_are_shown_once_and_asked_ones_first() -> None:
    assert shown("make a 2>&1", "make a | tail -3", "make deploy", asked=("deploy",)) == (
        "make deploy",
        "make a",
    )
