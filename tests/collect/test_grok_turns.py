"""Turns that are logged with their subagents counted in: every token counts once, for its user."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from session_memory.derive.turns_with_subagents import own_part, subtract_subagents
from session_memory.store import Store, open_store
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    every_usage,
    rebuilt,
    usage_of,
)
from session_memory.testing.grok import GrokHome, GrokLog, Json, both, used

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

MAIN = used(1000, 100, cached=400, reasoning=10)
CHILD = used(300, 30, cached=100, reasoning=3)
GRANDCHILD = used(70, 7, cached=20)


@pytest.fixture
def home(tmp_path: Path) -> GrokHome:
    return GrokHome(tmp_path / "home")


def a_child(home: GrokHome, parent: GrokLog, name: str, usage: Json | None = CHILD) -> GrokLog:
    """A subagent that works and ends while its parent's turn runs."""
    parent.call("spawn_subagent", description=name, prompt="look")
    parent.spawned(name, name)
    child = home.subagent(parent, name, name)
    child.prompt("look")
    child.say("done")
    if usage is not None:
        child.turn_ended(usage)
    parent.finished(name)
    parent.result("done", raw={"type": "SubagentCompleted", "subagent_id": name})
    return child


def outputs(store: Store) -> dict[str, int]:
    return {s.native_session_id: s.cost.output_tokens for s in store.sessions.every()}


def test_a_turn_is_counted_without_its_subagents(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "one")
    a_child(home, log, "two")
    log.say("both are done")
    log.turn_ended(both(MAIN, CHILD, CHILD))
    with collected(home.write()) as store:
        check_sound(store)
        assert outputs(store) == {"main": 100, "one": 30, "two": 30}
        (usage,) = usage_of(store, "grok:main")
        buckets = (usage.input_tokens, usage.cache_read_tokens, usage.reasoning_tokens)
        assert buckets == (600, 400, 10)


def test_subagents_of_subagents_are_taken_out_once(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    log.spawned("child", "child")
    child = home.subagent(log, "child", "child")
    child.prompt("look")
    a_child(home, child, "grandchild", GRANDCHILD)
    child.turn_ended(both(CHILD, GRANDCHILD))
    log.finished("child")
    log.turn_ended(both(MAIN, CHILD, GRANDCHILD))
    with collected(home.write()) as store:
        check_sound(store)
        assert outputs(store) == {"main": 100, "child": 30, "grandchild": 7}


def test_a_subagents_subagent_as_the_program_logs_it_is_in_no_turn(home: GrokHome) -> None:
    """The outermost session's log has it, with the turn of the subagent that started it."""
    log = home.session("main")
    log.prompt("delegate")
    log.spawned("child", "child")
    child = home.subagent(log, "child", "child")
    child.prompt("look")
    outermost, log.turn = log.turn, child.turn
    log.spawned("grandchild", "grandchild")
    log.turn = outermost
    grandchild = home.subagent(log, "grandchild", "grandchild")
    grandchild.prompt("look closer")
    grandchild.turn_ended(GRANDCHILD)
    log.finished("grandchild")
    child.turn_ended(CHILD)
    log.finished("child")
    log.turn_ended(both(MAIN, CHILD))
    with collected(home.write()) as store:
        assert outputs(store) == {"main": 100, "child": 30, "grandchild": 7}


def test_a_subagent_that_outlived_its_turn_is_not_in_it(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    log.spawned("slow", "slow")
    log.turn_ended(MAIN)
    child = home.subagent(log, "slow", "slow")
    child.prompt("look")
    child.turn_ended(CHILD)
    log.prompt("go on")
    log.finished("slow")
    log.turn_ended(used(10, 1))
    with collected(home.write()) as store:
        assert outputs(store) == {"main": 101, "slow": 30}


def test_a_subagent_whose_session_is_gone_leaves_the_turn_whole(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    child = a_child(home, log, "gone")
    log.turn_ended(both(MAIN, CHILD))
    home.logs.remove(child)
    with collected(home.write()) as store:
        assert outputs(store)["main"] == 130


def test_a_subagent_that_was_stopped_before_it_told_its_usage_leaves_it_with_the_turn(
    home: GrokHome,
) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "stopped", None)
    log.turn_ended(both(MAIN, CHILD))
    with collected(home.write()) as store:
        assert outputs(store) == {"main": 130, "stopped": 0}


def test_subagents_on_other_models_are_taken_out_of_their_models_part(home: GrokHome) -> None:
    mini = used(50, 5, model="grok-mini")
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "small", mini)
    log.turn_ended(both(MAIN, mini))
    with collected(home.write()) as store:
        check_sound(store)
        by_model = [(u.session_uid, u.model, u.output_tokens) for u in every_usage(store)]
    assert sorted(by_model) == [
        ("grok:main", "grok-4.6", 100),
        ("grok:main", "grok-mini", 0),
        ("grok:small", "grok-mini", 5),
    ]


def test_the_order_of_arrival_does_not_matter(home: GrokHome, tmp_path: Path) -> None:
    log = home.session("main")
    log.prompt("delegate")
    child = a_child(home, log, "child")
    other = a_child(home, log, "other", GRANDCHILD)
    log.turn_ended(both(MAIN, CHILD, GRANDCHILD))
    found = set()
    for number, order in enumerate(permutations((log, child, other))):
        home.path = tmp_path / str(number)
        with open_store(":memory:") as store:
            for part in order:
                home.write([part])
                collect(store, home.path)
            check_sound(store)
            assert outputs(store) == {"main": 100, "child": 30, "other": 7}
            found.add(repr([(s.session_uid, s.cost) for s in store.sessions.every()]))
            before = store.fingerprint()
            assert rebuilt(store).fingerprint() == before
    assert len(found) == 1


def test_a_turn_that_ends_later_is_counted_then(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "child")
    with collected(home.write()) as store:
        assert outputs(store) == {"main": 0, "child": 30}
        log.turn_ended(both(MAIN, CHILD))
        collect(store, home.write())
        check_sound(store)
        assert outputs(store) == {"main": 100, "child": 30}


def test_a_turn_logged_twice_counts_once(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "child")
    log.turn_ended(both(MAIN, CHILD))
    with collected(home.write()) as store:
        log.turn_ended(both(MAIN, CHILD))
        collect(store, home.write())
        check_sound(store)
        assert outputs(store) == {"main": 100, "child": 30}


def test_a_forks_copied_turns_count_for_the_session_they_were_copied_from(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "child")
    log.turn_ended(both(MAIN, CHILD))
    fork = home.fork(log, "fork")
    fork.prompt("another way")
    fork.turn_ended(used(10, 1))
    with collected(home.write()) as store:
        check_sound(store)
        assert outputs(store) == {"main": 100, "child": 30, "fork": 1}
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before


def test_a_resumed_subagent_is_taken_out_without_what_it_copied(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    first = a_child(home, log, "first")
    log.turn_ended(both(MAIN, CHILD))
    log.prompt("ask it again")
    log.spawned("again", "again")
    again = home.fork(first, "again")
    again.summary |= {"session_kind": "subagent_resume"}
    log.meta_of("again", "again", resumed_from="first")
    again.prompt("and?")
    again.turn_ended(GRANDCHILD)
    log.finished("again")
    log.turn_ended(both(MAIN, GRANDCHILD))
    with collected(home.write()) as store:
        check_sound(store)
        assert outputs(store) == {"main": 200, "first": 30, "again": 7}


def test_balancing_again_changes_nothing(home: GrokHome) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "child")
    log.turn_ended(both(MAIN, CHILD))
    with collected(home.write()) as store:
        before = store.fingerprint()
        row = store.sessions.row("grok:child")
        assert row is not None
        with store.transaction():
            assert subtract_subagents(store, [row.id]) == set()
        assert store.fingerprint() == before


@pytest.mark.parametrize(
    ("spent", "own"),
    [
        ([], (10, 5)),
        ([(4, 2)], (6, 3)),
        ([(4, 2), (6, 3)], (0, 0)),
        # A subagent that used more than there is was never counted in.
        ([(4, 6)], (10, 5)),
        ([(11, 1), (4, 2)], (6, 3)),
    ],
)
def test_what_is_left_of_a_turn(spent: list[tuple[int, int]], own: tuple[int, int]) -> None:
    assert own_part((10, 5), spent) == own


@pytest.mark.parametrize("forget", [lambda log: log.files.clear(), lambda log: None])
def test_the_log_alone_says_which_subagents_are_in_a_turn(
    home: GrokHome, forget: Callable[[GrokLog], None]
) -> None:
    log = home.session("main")
    log.prompt("delegate")
    a_child(home, log, "child")
    log.turn_ended(both(MAIN, CHILD))
    forget(log)
    with collected(home.write()) as store:
        assert outputs(store) == {"main": 100, "child": 30}
        child = store.sessions.get("grok:child")
        assert child is not None and child.parent_uid == "grok:main"
