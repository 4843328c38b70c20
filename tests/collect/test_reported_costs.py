"""What agents write that responses and sessions cost is kept as logged, and is in no total."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.base import NativeUsage
from session_memory.adapters.reported_costs import MOST_MICRODOLLARS, costs_by_model, microdollars
from session_memory.derive.facts import facts_of
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    rebuilt,
    usage_of,
)

DATA = Path(__file__).parent.parent / "data"
COSTS = "reported_costs_with_subagents"


@pytest.fixture
def claude(tmp_path: Path) -> ClaudeHome:
    return ClaudeHome(tmp_path / "home")


def session_costs(store: Store, uid: str) -> Any:
    row = store.sessions.row(uid)
    assert row is not None
    return facts_of(row).get(COSTS)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("logged", "amount"),
    [
        (0.0010195, 1020),
        (0.0021184999999999997, 2118),
        (0, 0),
        (3, 3_000_000),
        (Decimal("0.01"), 10_000),
        (None, None),
        (True, None),
        ("0.1", None),
        (-0.1, None),
        (float("nan"), None),
        (float("inf"), None),
        (1e300, None),
        (10**400, None),
        (MOST_MICRODOLLARS, None),
        ({}, None),
    ],
)
def test_dollars_become_whole_microdollars_or_nothing(logged: Any, amount: int | None) -> None:
    assert microdollars(logged) == amount


@pytest.mark.only("sqlite")
def test_an_impossible_cost_of_an_adapter_is_rejected_and_the_tokens_count() -> None:
    used = NativeUsage("a", "m", output_tokens=5, reported_cost=-1)
    used.reject_impossible()
    assert (used.output_tokens, used.reported_cost) == (5, None)
    assert "reported_cost is -1" in used.rejected
    assert costs_by_model({"a": 0.5, "b": "x", "c\0": 1.0}) == {"a": 500_000, "c\\u0000": 1_000_000}


def test_pi_has_a_figure_for_each_response() -> None:
    with collected(DATA / "pi" / "basic" / "home") as store:
        (uid,) = store.sessions.uids()
        costs = [one.reported_cost for one in usage_of(store, uid)]
        assert costs and all(isinstance(cost, int) and cost > 0 for cost in costs)
        assert usage_of(rebuilt(store), uid) == usage_of(store, uid)
        check_sound(store)


def test_old_logs_of_claude_have_a_figure_and_a_later_writing_replaces_it(
    claude: ClaudeHome,
) -> None:
    log = claude.session()
    log.prompt("go")
    log.answer("half", id="msg_1", used=usage(5), costUSD=0.001)
    with collected(claude.write()) as store:
        log.answer("whole", id="msg_1", used=usage(50), costUSD=0.002)
        log.answer("none", id="msg_2", used=usage(5), costUSD="free")
        collect(store, claude.write())
        used = {one.usage_id: one for one in usage_of(store, log.uid)}
        assert used["msg_1"].reported_cost == 2000
        assert used["msg_2"].to_dict().get("reported_cost", "left out") == "left out"
        check_same(contents(rebuilt(store)), contents(store))


def test_the_last_figure_of_a_session_counts_in_any_order_of_reading(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("go")
    uid = log.uid
    with collected(claude.write()) as store:
        for dollars in (0.5, 1.25):
            models = {"opus": {"costUSD": dollars}, "odd": {"costUSD": []}, "none": 3}
            log.note("cost-state", totalCostUSD=dollars, modelUsage=models)
            log.answer("done")
            collect(store, claude.write())
            assert session_costs(store, uid) == {"opus": round(dollars * 1_000_000)}
        log.note("cost-state", modelUsage=["rubbish"])
        collect(store, claude.write())
        assert session_costs(store, uid) == {"opus": 1_250_000}
        assert session_costs(rebuilt(store), uid) == {"opus": 1_250_000}
        check_sound(store)
