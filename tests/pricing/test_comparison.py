"""The agents' own cost figures beside ours: every figure is compared, or said not to be."""

import json
from typing import Any

from ledger import Ledger

from session_memory.pricing.sessions import session_amounts
from session_memory.views.cost import CostFilter
from session_memory.views.cost_comparison import CostComparison, compare_costs

OPUS, HAIKU = "claude-opus-4-5", "claude-haiku-4-5"
# $5 and $25 for a million tokens of Opus 4.5.
OURS = 1000 * 5 + 100 * 25


def compared(ledger: Ledger, **filters: Any) -> CostComparison:
    return compare_costs(ledger.store, CostFilter(**filters))


def costs(name: str, **models: int) -> str:
    named = {model.replace("_", "-"): cost for model, cost in models.items()}
    return json.dumps({"a log's costs": {name: named}})


def test_responses_are_compared_one_by_one_and_summed_by_agent_and_model(ledger: Ledger) -> None:
    one, other = ledger.session("one", flavor="pi"), ledger.session("other", flavor="pi")
    for uid, figure in ((one, OURS), (one, OURS + 40), (other, OURS - 1000), (other, None)):
        ledger.used(uid, OPUS, input=1000, output=100, reported=figure)
    found = compared(ledger)
    (row,) = found.rows
    assert (row.flavor, row.model, row.per) == ("pi", OPUS, "response")
    assert (row.compared, row.responses) == (3, 4)
    assert (row.reported, row.ours) == (3 * OURS - 960, 3 * OURS)
    assert [(each.uid, each.difference) for each in found.differences] == [
        ("pi:other", 1000),
        ("pi:one", -40),
    ]
    assert found.to_dict()["differences"][0]["session_uid"] == "pi:other"


def test_a_figure_of_zero_and_a_model_without_a_price_are_counted_apart(ledger: Ledger) -> None:
    uid = ledger.session(flavor="pi")
    ledger.used(uid, OPUS, input=1000, reported=0)
    ledger.used(uid, HAIKU, reported=0)
    ledger.used(uid, "house-model", input=1000, reported=77)
    haiku, opus, house = compared(ledger).rows
    assert (haiku.zero, haiku.compared) == (0, 1)
    assert (opus.zero, opus.compared, opus.reported, opus.ours) == (1, 0, 0, 0)
    assert (house.unpriced, house.unpriced_reported, house.compared, house.ours) == (1, 77, 0, 0)
    assert [row.to_dict()["figures"] for row in (opus, house)] == [1, 1]
    assert not compared(ledger).differences


def test_a_microdollar_for_each_response_is_rounding(ledger: Ledger) -> None:
    uid = ledger.session(flavor="pi")
    for figure in (OURS + 1, OURS + 1, OURS + 1):
        ledger.used(uid, OPUS, input=1000, output=100, reported=figure)
    assert not compared(ledger).differences
    ledger.used(uid, OPUS, input=1000, output=100, reported=OURS + 2)
    assert [each.difference for each in compared(ledger).differences] == [-5]


def test_a_figure_of_a_session_includes_its_subagents_if_the_agent_says_so(ledger: Ledger) -> None:
    own = costs("reported_costs", claude_opus_4_5=OURS)
    tree = costs("reported_costs_with_subagents", claude_opus_4_5=OURS, claude_haiku_4_5=5)
    for name, facts in (("own", own), ("tree", tree)):
        uid = ledger.session(name, facts=facts, started_at=1_000)
        child = ledger.session(f"{name}:a", parent_uid=uid, relation="subagent")
        ledger.used(uid, f"{OPUS}[1m]", input=1000, output=100)
        ledger.used(child, OPUS, input=1000, output=100)
    found = compared(ledger)
    haiku, opus = found.rows
    assert (opus.per, opus.compared, opus.reported, opus.ours) == (
        "session",
        2,
        2 * OURS,
        3 * OURS,
    )
    # The request of a title is in no log: ours is nothing.
    assert (haiku.model, haiku.reported, haiku.ours) == (HAIKU, 5, 0)
    assert [(each.uid, each.difference) for each in found.differences] == [
        ("claude:tree", OURS),
        ("claude:tree", -5),
    ]


def test_a_figure_without_a_model_covers_all_models(ledger: Ledger) -> None:
    facts = json.dumps({"document 1": {"reported_costs": {"": 9, "odd": "x"}, "generation": 0}})
    uid = ledger.session(facts=facts)
    ledger.used(uid, OPUS, input=1000, output=100)
    ledger.used(uid, HAIKU, input=1000)
    (row,) = compared(ledger).rows
    assert (row.model, row.reported, row.ours) == ("", 9, OURS + 1000)


def test_filters_select_figures(ledger: Ledger) -> None:
    facts = costs("reported_costs", claude_opus_4_5=1)
    ledger.session("old", facts=facts, started_at=1_000, repo="shop")
    uid = ledger.session("new", flavor="pi", repo="farm")
    ledger.used(uid, HAIKU, "2026-07-01T10:00:00.000Z", input=10, reported=3)
    for selected, flavors in (
        ({"flavor": "p*"}, ["pi"]),
        ({"repo": "shop"}, ["claude"]),
        ({"since": 2_000}, ["pi"]),
        ({"until": 2_000}, ["claude"]),
        ({"model": "haiku"}, ["pi"]),
        ({"session": "claude:old"}, ["claude"]),
    ):
        assert [row.flavor for row in compared(ledger, **selected).rows] == flavors, selected


def test_the_agents_figures_are_in_no_total(ledger: Ledger) -> None:
    uid = ledger.session(facts=costs("reported_costs", claude_opus_4_5=10**9))
    ledger.used(uid, OPUS, input=1000, output=100, reported=10**9)
    assert session_amounts(ledger.store)[uid].microdollars == OURS
