"""One more fork of a session that has many: the others stay as they are, and the result is that of
any other order."""

import random
from pathlib import Path

import pytest
from effort import IS_REPEATABLE, times
from on_a_server import cases

from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.claude_log import ClaudeLog
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    new_store,
    rebuilt,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


def talk(log: ClaudeLog, words: str) -> ClaudeLog:
    log.prompt(words)
    log.answer(f"{words}!")
    return log


def home_with_forks(claude: ClaudeHome, *, goes_on: bool, lines: int | None = None) -> ClaudeLog:
    """A session and three forks of it. With ``goes_on``, it has records of its own as well."""
    how = {} if lines is None else {"lines": lines}
    origin = talk(talk(claude.session("origin"), "one"), "two")
    forks = [claude.fork(origin, f"fork{number}", **how) for number in range(3)]
    if goes_on:
        talk(origin, "three")
    for number, fork in enumerate(forks):
        talk(fork, f"own {number}")
    return origin


def revisions(store: Store) -> dict[str, int]:
    return dict(store.sessions.revisions().values())


def check_nothing_else_is_written(claude: ClaudeHome, fork: ClaudeLog) -> None:
    others = [log for log in claude.logs if log is not fork]
    with new_store() as store:
        collect(store, claude.write(others))
        before = revisions(store)
        collect(store, claude.write([fork]))
        after = revisions(store)
        assert after.pop(fork.uid) == 1
        assert after == before, "sessions were derived that the fork does not change"
        check_sound(store)
        found = contents(store)
        check_same(found, contents(rebuilt(store)))


def test_a_fork_of_the_whole_session_leaves_the_other_forks_alone(claude: ClaudeHome) -> None:
    origin = home_with_forks(claude, goes_on=False)
    check_nothing_else_is_written(claude, talk(claude.fork(origin, "new"), "four"))


def test_a_fork_of_a_part_leaves_the_other_forks_alone(claude: ClaudeHome) -> None:
    origin = home_with_forks(claude, goes_on=False)
    check_nothing_else_is_written(claude, talk(claude.fork(origin, "new", lines=2), "four"))


def test_a_fork_of_a_session_that_went_on_leaves_the_other_forks_alone(claude: ClaudeHome) -> None:
    origin = home_with_forks(claude, goes_on=True, lines=4)
    check_nothing_else_is_written(claude, talk(claude.fork(origin, "new", lines=4), "four"))


def test_a_fork_that_does_not_fit_into_one_batch_leaves_the_others_alone(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 300)
    monkeypatch.setattr("session_memory.collect.batches.BATCH_CHUNKS", 1)
    origin = home_with_forks(claude, goes_on=False)
    check_nothing_else_is_written(claude, talk(claude.fork(origin, "new"), "four"))


def family(claude: ClaudeHome, chance: random.Random) -> None:
    """A session, forks of it and of its forks at any place, with and without own records."""
    names = [f"{letter}-session" for letter in "abcdefgh"]
    chance.shuffle(names)
    first = claude.session(names.pop())
    for number in range(chance.randrange(1, 4)):
        talk(first, f"first {number}")
    for name in names:
        log = chance.choice(claude.logs if chance.random() < 0.3 else [first])
        lines = chance.choice(
            (len(log.lines), len(log.lines), chance.randrange(len(log.lines)) + 1)
        )
        fork = claude.fork(log, name, lines=lines)
        if chance.random() < 0.8:
            talk(fork, name)
        if chance.random() < 0.2:
            talk(chance.choice(claude.logs), f"later {name}")


@pytest.mark.parametrize("number", cases(range(times(9)), range(times(2))))
def test_forks_give_one_result_in_any_order(tmp_path: Path, number: int) -> None:
    chance = random.Random(number if IS_REPEATABLE else None)
    claude = ClaudeHome(tmp_path / "home")
    family(claude, chance)
    with new_store() as store:
        for log in chance.sample(claude.logs, len(claude.logs)):
            collect(store, claude.write([log]))
        check_sound(store)
        found = contents(store)
        check_same(found, contents(rebuilt(store)))
    with collected(claude.path) as store:
        check_same(contents(store), found)
