"""Forgetting a subagent whose tokens its parent's turn contains."""

import pytest
from keeping import LATER, Keeper

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.retain.forget import forget
from session_memory.testing.collecting import check_sound, contents, rebuilt, usage_of
from session_memory.testing.grok import GrokHome, both, used

OWN = used(1000, 100, cached=400)
CHILD = used(300, 30, cached=100)


@pytest.fixture
def delegating(keeper: Keeper) -> Keeper:
    """A store with a Grok session whose turn contains the tokens of its subagent."""
    home = GrokHome(keeper.claude.path)
    parent = home.session("parent")
    parent.prompt("delegate")
    parent.call("spawn_subagent", description="child", prompt="look")
    parent.spawned("child", "child")
    child = home.subagent(parent, "child", "child")
    child.prompt("look")
    child.say("done")
    child.turn_ended(CHILD)
    parent.finished("child")
    parent.result("done", raw={"type": "SubagentCompleted", "subagent_id": "child"})
    parent.turn_ended(both(OWN, CHILD))
    home.write()
    sync(keeper.store, keeper.config, roots(keeper.config, (home.path,)), host="here")
    return keeper


def output_tokens(keeper: Keeper) -> dict[str, int]:
    return {s.native_session_id: s.cost.output_tokens for s in keeper.store.sessions.every()}


def test_tokens_of_a_forgotten_subagent_count_for_its_parent_again(delegating: Keeper) -> None:
    store = delegating.store
    assert output_tokens(delegating) == {"parent": 100, "child": 30}
    forget(store, delegating.config, ["grok:child"], LATER)
    assert output_tokens(delegating) == {"parent": 130}
    (usage,) = usage_of(store, "grok:parent")
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (800, 500, 130)


def test_a_store_without_the_subagent_is_what_a_rebuild_of_it_gives(delegating: Keeper) -> None:
    store = delegating.store
    forget(store, delegating.config, ["grok:child"], LATER)
    check_sound(store)
    before = contents(store)
    assert contents(rebuilt(store)) == before
