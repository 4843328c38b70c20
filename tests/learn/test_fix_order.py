"""The fix that worked in most sessions comes first, and sessions of the asked repository do."""

from pathlib import Path

import pytest

from session_memory.learn.analyze import analyze
from session_memory.learn.digest import Resolution
from session_memory.learn.fix import known_errors
from session_memory.learn.fix_order import is_same_call, way_of
from session_memory.store import Store
from session_memory.store.digests import Digests
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import collect, new_store

BOTH = pytest.mark.only("sqlite", "postgresql")
ERROR = "error: unrecognized subcommand 'bun'"


def resolved(home: ClaudeHome, name: str, worked: str, failed: str = "rtk bun run test") -> None:
    log = home.session(name)
    log.prompt(f"test part {name}")
    log.run(failed, ERROR, exit_code=2)
    log.run(worked, "1 pass")
    log.answer("It passes.")


def learned(*homes: ClaudeHome) -> Store:
    store = new_store()
    for home in homes:
        collect(store, home.write())
    analyze(store)
    return store


def texts(store: Store, **how: object) -> list[str]:
    found = known_errors(store, ERROR, 0, **how).occurrences  # type: ignore[arg-type]
    return [one.resolution.text for one in found if one.resolution]


@pytest.mark.only("sqlite")
def test_what_worked_in_most_sessions_comes_before_what_worked_last(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    resolved(home, "one", "bun run test")
    resolved(home, "two", "cd /home/mira/code/app && bun run test 2>&1 | tail -5")
    resolved(home, "three", "bun run test 2>&1")
    resolved(home, "odd", "rtk test bun run test")
    with learned(home) as store:
        found = texts(store)
    assert "rtk" not in found[0]
    # What comes to the same is shown once before it is repeated.
    assert found[1] == "rtk test bun run test"


@pytest.mark.only("sqlite")
def test_of_equally_good_fixes_that_of_the_same_command_comes_first(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    resolved(home, "lint", "bun run lint", failed="rtk bun run lint")
    resolved(home, "test", "bun run test", failed="rtk bun run test")
    with learned(home) as store:
        assert texts(store, command="rtk bun run lint")[0] == "bun run lint"
        assert texts(store, command="cd x && rtk bun run test 2>&1")[0] == "bun run test"


@BOTH
def test_sessions_of_the_asked_repository_are_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, everywhere: None
) -> None:
    own = ClaudeHome(tmp_path / "own", cwd="/home/mira/code/webshop")
    resolved(own, "zz-own", "bun run test")
    other = ClaudeHome(tmp_path / "other", cwd="/home/mira/code/billing")
    other.clock.tick(86_400_000)
    for number in range(4):
        resolved(other, f"other-{number}", f"npm run test{number}")
    monkeypatch.setattr("session_memory.learn.fix.MOST_SESSIONS", 2)
    with learned(own, other) as store:
        mark = known_errors(store, ERROR, 1).fingerprint
        newest = Digests(store.db).sessions_with([mark])
        assert newest[0] == "claude:other-3" and newest[-1] == "claude:zz-own"
        assert Digests(store.db).sessions_with([mark], ["webshop"])[0] == "claude:zz-own"
        assert "bun run test" not in texts(store)
        assert "bun run test" in texts(store, repos=["webshop"])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (("command", "bun run lint:fix"), ("command", "cd web && bun run lint:fix | tail"), True),
        (("command", "bun run lint:fix"), ("command", "bun run lint"), False),
        (("edit", "/a/app/web/x.ts, /a/app/y.ts"), ("edit", "/b/app/y.ts, /b/app/x.ts"), True),
        (("edit", "/a/x.ts"), ("edit", "/a/y.ts"), False),
        (("again", ""), ("look", "the same file"), False),
    ],
)
def test_resolutions_that_come_to_the_same(
    one: tuple[str, str], other: tuple[str, str], is_same: bool
) -> None:
    first, second = (way_of(Resolution(*how, (), "")) for how in (one, other))
    assert (first == second) is is_same


def test_a_call_is_the_same_with_others_beside_it() -> None:
    assert is_same_call("cd web && make check 2>&1 | tail -3", "make check")
    assert not is_same_call("make check", "make test")
    assert not is_same_call("", "")
