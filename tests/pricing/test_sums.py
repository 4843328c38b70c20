"""However usage is grouped, the total is the same; on both databases; in any order of arrival."""

import random

import pytest
from effort import times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger import Ledger

from session_memory.core.money import Limits, OwnPrice
from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.pricing import Amount, session_amounts, tree_amounts
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.pricing.rates import Rate, UsageKind, rates_of
from session_memory.pricing.sessions import family
from session_memory.pricing.table import price_table
from session_memory.store import Store, open_store
from session_memory.testing.stores import PostgresStores
from session_memory.views.budget import budget
from session_memory.views.cost import GROUPINGS, CostFilter, cost_report
from session_memory.views.cost_audit import audit
from session_memory.views.statusline import AgentStatus, statusline
from session_memory.views.zones import zone

MODELS = (
    "claude-opus-4-6",
    "claude-sonnet-4-5-20250929",
    "claude-haiku-5-5",
    "gpt-5.5",
    "deepseek-chat",
    "grok-4.20",
    "nobody-knows-1",
)
MOST = 1 << 40
tokens = st.one_of(st.integers(0, 300_000), st.sampled_from([200_000, 200_001, MOST]))
records = st.lists(
    st.fixed_dictionaries(
        {
            "session": st.integers(0, 5),
            "model": st.sampled_from(MODELS),
            "at": st.one_of(st.none(), st.integers(1_735_689_600_000, 1_798_761_600_000)),
            "speed": st.sampled_from([None, "fast", "standard"]),
            "tier": st.sampled_from([None, "standard", "priority", "batch"]),
            "input": tokens,
            "output": tokens,
            "read": tokens,
            "write": tokens,
            "searches": st.integers(0, 9),
        }
    ),
    max_size=25,
)
TREE = {1: 0, 2: 0, 3: 1}


def write(ledger: Ledger, drawn: list[dict[str, object]]) -> None:
    uids = {}
    for number in range(6):
        parent = TREE.get(number)
        facts = {} if parent is None else {"parent_uid": uids[parent], "relation": "subagent"}
        repo = None if number == 5 else f"repo-{number % 2}"
        uids[number] = ledger.session(f"s{number}", repo=repo, **facts)
    with ledger.store.transaction():
        for record in drawn:
            values = dict(record)
            uid, model, at = uids[values.pop("session")], values.pop("model"), values.pop("at")
            ledger.used(uid, model, at, hour=int(values["write"]) // 3, **values)


def by_hand(rate: Rate, buckets: tuple[int, ...]) -> int:
    if rate.price is None:
        return 0
    given, output, read, written, hour, _, searches = buckets
    price = rate.price
    exact = given * price.input + output * price.output + read * price.cache_read
    exact += (written - hour) * price.cache_write + hour * price.cache_write_1h
    return (exact + searches * (price.search or 0) + 500_000) // 1_000_000


def check_sums(store: Store) -> dict[str, object]:
    single = charges(store, ("usage",))
    for charge in single:
        assert charge.records == 1
        assert charge.microdollars == by_hand(charge.rate, charge.buckets)
    total = sum(charge.microdollars for charge in single)
    unpriced = sum(charge.unpriced_tokens for charge in single)
    reports = {
        by: cost_report(store, CostFilter(by=by, tz=zone("Europe/Berlin"))) for by in GROUPINGS
    }
    for report in reports.values():
        assert report.totals.microdollars == total
        assert sum(row.tally.microdollars for row in report.rows) == total
        assert report.totals.unpriced_tokens == unpriced
        assert sum(row["tokens"] for row in report.unpriced) == unpriced
    own = session_amounts(store)
    assert sum(own.values(), Amount()) == Amount(total, unpriced)
    for uid in own:
        found = audit(store, uid)
        assert found.own == own[uid]
        assert sum(record.microdollars for record in found.records) == own[uid].microdollars
        assert found.whole == tree_amounts(store, [uid])[uid]
    return {by: report.to_dict() for by, report in reports.items()}


@settings(max_examples=times(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records)
def test_any_grouping_has_the_same_total(drawn: list[dict[str, object]]) -> None:
    with open_store(":memory:") as store:
        write(Ledger(store), drawn)
        check_sums(store)


def test_both_databases_answer_alike(server_stores: PostgresStores) -> None:
    draw = random.Random(5)
    drawn = [
        {
            "session": draw.randrange(6),
            "model": draw.choice(MODELS),
            "at": draw.choice([None, draw.randrange(1_735_689_600_000, 1_798_761_600_000)]),
            "speed": draw.choice([None, "fast", "standard"]),
            "tier": draw.choice([None, "priority", "batch"]),
            **{name: draw.choice([0, 5, 200_001, MOST]) for name in ("input", "output", "read")},
            "write": draw.randrange(300_000),
            "searches": draw.randrange(3),
        }
        for _ in range(300)
    ]
    answers = []
    for store in (open_store(":memory:"), server_stores.new()):
        with store:
            write(Ledger(store), drawn)
            answers.append(check_sums(store))
    assert answers[0] == answers[1]


def test_rates_of_a_kind_cover_every_moment_and_size_once() -> None:
    draw = random.Random(9)
    for model in MODELS[:-1]:
        for tier in (None, "flex", "batch"):
            rates = rates_of(price_table(), {}, [UsageKind("claude", model, None, tier)])
            for _ in range(300):
                at = draw.choice([MIN_MS, MAX_MS, draw.randrange(10**12, 2 * 10**12)])
                size = draw.choice([0, 10**9, draw.randrange(400_000)])
                hits = [rate for rate in rates if covers(rate, at, size)]
                assert len(hits) == 1, (model, tier, at, size)


def covers(rate: Rate, at: int, size: int) -> bool:
    assert rate.price is not None
    in_hours = rate.price.day_from <= at % 86_400_000 < rate.price.day_to
    return rate.since <= at < rate.until and rate.above <= size < rate.below and in_hours


def test_a_part_of_the_sessions_is_a_part_of_the_sum(ledger: Ledger) -> None:
    uids = [ledger.session(f"s{number}") for number in range(4)]
    for number, uid in enumerate(uids):
        ledger.used(uid, "claude-opus-4-6", output=number + 1)
    assert session_amounts(ledger.store, uids[1:3]) == {
        uids[1]: Amount(2 * 25),
        uids[2]: Amount(3 * 25),
    }
    assert session_amounts(ledger.store, []) == {}
    assert session_amounts(ledger.store, ["claude:nobody"]) == {"claude:nobody": Amount()}
    # Past some hundreds they are not named one by one; the answer is the same.
    many = [*uids, *(f"claude:nobody-{number}" for number in range(600))]
    assert session_amounts(ledger.store, many)[uids[3]] == Amount(100)


def test_a_circle_of_subagents_counts_each_once(ledger: Ledger) -> None:
    one = ledger.session("one", parent_uid="claude:two", relation="subagent")
    two = ledger.session("two", parent_uid="claude:one", relation="subagent")
    ledger.used(one, "claude-opus-4-6", output=1)
    ledger.used(two, "claude-opus-4-6", output=2)
    assert tree_amounts(ledger.store) == {one: Amount(75), two: Amount(75)}
    assert sorted(family("a", {"a": ["a", "b"], "b": ["a"]})) == ["a", "b"]
    assert cost_report(ledger.store, CostFilter(by="session")).totals.microdollars == 75


def test_forks_pay_for_themselves_alone(ledger: Ledger) -> None:
    parent = ledger.session("parent")
    ledger.session("fork", parent_uid=parent, relation="fork")
    ledger.used(parent, "claude-opus-4-6", output=4)
    assert tree_amounts(ledger.store) == {parent: Amount(100), "claude:fork": Amount()}


@pytest.mark.only("sqlite")
def test_an_empty_store_has_spent_nothing(ledger: Ledger) -> None:
    for by in GROUPINGS:
        report = cost_report(ledger.store, CostFilter(by=by))
        assert (report.rows, report.unpriced, report.totals.microdollars) == ([], [], 0)
    assert session_amounts(ledger.store) == {}


@pytest.mark.only("sqlite")
def test_asking_never_writes(ledger: Ledger) -> None:
    write(ledger, [])
    uid = ledger.session("s9", started_at=1)
    ledger.used(uid, "claude-opus-4-6", None, output=4)
    ledger.store.db.execute("pragma query_only = on")
    check_sums(ledger.store)
    budget(ledger.store, Limits(month=1))
    assert statusline(ledger.store, AgentStatus(session_id="s9"), Limits()).session == Amount(100)


@pytest.mark.only("sqlite")
def test_many_absurd_records_do_not_overflow(ledger: Ledger) -> None:
    uid = ledger.session()
    with ledger.store.transaction():
        for _ in range(3000):
            huge = dict.fromkeys(("input", "output", "read", "write", "searches"), MOST)
            ledger.used(uid, "gpt-5.5", **huge)
    (charge,) = charges(ledger.store)
    assert charge.microdollars == 3000 * by_hand(
        charge.rate, tuple(figure // 3000 for figure in charge.buckets)
    )
    assert charge.microdollars > 1 << 63


@pytest.mark.only("sqlite")
def test_the_dearest_prices_of_ones_own_do_not_overflow(ledger: Ledger) -> None:
    uid = ledger.session()
    dearest = OwnPrice(input=10_000, output=10_000, web_searches=1_000, fast=100)
    figures = dict.fromkeys(("input", "output", "read", "write", "searches"), MOST - 1)
    ledger.used(uid, "house-model", speed="fast", **figures)
    (charge,) = charges(ledger.store, own={"house-*": dearest})
    # A million dollars for a million tokens, and a dollar for a search.
    assert charge.microdollars == (MOST - 1) * (4 * 1_000_000 + 1_000_000)


@pytest.mark.only("sqlite")
def test_prices_of_ones_own_go_first_and_may_be_tiny(ledger: Ledger) -> None:
    uid = ledger.session()
    ledger.used(uid, "claude-opus-4-6", input=1_000_000, speed="fast")
    own = {"CLAUDE-opus-*": OwnPrice(input=0.000001, output=0, fast=2.5)}
    # A millionth of a dollar for a million, times two and a half: half of it is rounded up.
    assert session_amounts(ledger.store, [uid], own)[uid] == Amount(3)
    assert session_amounts(ledger.store, [uid])[uid] == Amount(30_000_000)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (UsageFilter(), 150),
        (UsageFilter(since=1_000), 125),
        (UsageFilter(until=1_000), 25),
        (UsageFilter(since=1_000, until=1_000), 0),
        (UsageFilter(repos=("web",)), 25),
        (UsageFilter(repos=(None,)), 125),
        (UsageFilter(repos=("web", None)), 150),
        (UsageFilter(repos=()), 0),
        (UsageFilter(uids=()), 0),
        (UsageFilter(kind=lambda kind: kind.flavor == "nobody"), 0),
    ],
)
def test_only_what_was_asked_for_is_added_up(
    ledger: Ledger, asked: UsageFilter, expected: int
) -> None:
    ledger.used(ledger.session("one", repo="web"), "claude-opus-4-8", 999, output=1)
    ledger.used(ledger.session("two"), "claude-opus-4-8", 1_000, output=5)
    assert sum(charge.microdollars for charge in charges(ledger.store, (), asked)) == expected
