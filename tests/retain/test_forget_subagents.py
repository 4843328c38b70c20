"""Forgetting subagents: tokens that a parent's turn contains, and parents that are missing."""

import pytest
from keeping import LATER, Keeper, talk

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.retain.forget import forget
from session_memory.retain.forget_plan import with_relatives
from session_memory.testing.claude import call, usage
from session_memory.testing.collecting import check_sound, contents, rebuilt, usage_of
from session_memory.testing.grok import GrokHome, both, used

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

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


@BOTH
def test_a_store_without_the_subagent_is_what_a_rebuild_of_it_gives(delegating: Keeper) -> None:
    store = delegating.store
    forget(store, delegating.config, ["grok:child"], LATER)
    check_sound(store)
    before = contents(store)
    assert contents(rebuilt(store)) == before


# ---------------------------------------------------------------- whose parent is not in the store

SECRET = "xylophone-quartet-zanzibar"
NESTED = {"parentAgentId": "a1", "agentType": "worker", "description": f"about {SECRET}"}


def test_a_nested_subagent_goes_along_though_its_parent_was_never_collected(
    keeper: Keeper,
) -> None:
    origin = talk(keeper.claude.session("alpha"), "one")
    talk(keeper.claude.subagent(origin, "a2", meta=NESTED), f"below {SECRET}")
    talk(keeper.claude.session("beta"), "two")
    keeper.collect()
    child = keeper.store.sessions.row("claude:alpha:a2")
    assert child is not None and child.parent_uid == "claude:alpha:a1"
    assert keeper.store.sessions.row("claude:alpha:a1") is None
    assert with_relatives(keeper.store, ["claude:alpha"], subagents=False) == ["claude:alpha"]
    gone = with_relatives(keeper.store, ["claude:alpha"])
    assert gone == ["claude:alpha", "claude:alpha:a2"]
    forget(keeper.store, keeper.config, gone, LATER)
    kept = [b"".join(keeper.store.raw.pieces(row.id)) for row in keeper.store.sources.every()]
    assert len(kept) == 1 and SECRET.encode() not in kept[0]
    keeper.collect()
    assert keeper.store.sessions.uids() == ["claude:beta"]


def test_the_log_of_a_subagent_without_one_readable_line_goes_along(keeper: Keeper) -> None:
    origin = talk(keeper.claude.session("alpha"), "one")
    keeper.claude.subagent(origin, "a3").raw(f"not JSON: {SECRET}\n".encode())
    keeper.collect()
    assert keeper.store.sessions.uids() == ["claude:alpha"]
    forget(keeper.store, keeper.config, with_relatives(keeper.store, ["claude:alpha"]), LATER)
    assert keeper.store.sources.every() == []


def test_subagents_of_another_session_stay(keeper: Keeper) -> None:
    alpha = talk(keeper.claude.session("alpha"), "one")
    beta = talk(keeper.claude.session("alpha-b"), "two")
    talk(keeper.claude.subagent(beta, "a1"), "three")
    talk(keeper.claude.subagent(alpha, "a1"), "four")
    keeper.collect()
    assert with_relatives(keeper.store, ["claude:alpha"]) == ["claude:alpha", "claude:alpha:a1"]


def test_a_kept_subagent_is_what_a_rebuild_gives(keeper: Keeper) -> None:
    alpha = keeper.claude.session("alpha")
    alpha.prompt("go")
    alpha.answer("I start one.", call("Task", prompt="look"), used=usage(3))
    alpha.progress(agent="a1")
    talk(keeper.claude.subagent(alpha, "a1"), "below")
    keeper.collect()
    forget(keeper.store, keeper.config, ["claude:alpha"], LATER)
    check_sound(keeper.store)
    before = contents(keeper.store)
    assert contents(rebuilt(keeper.store)) == before
