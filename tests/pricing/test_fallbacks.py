"""Where a price is missing, the next best one is taken, and the rate says which."""

import pytest

from session_memory.core.money import OwnPrice
from session_memory.pricing.models import match_model
from session_memory.pricing.rates import Rate, UsageKind, rates_of
from session_memory.pricing.table import STANDARD, price_table


def meaning(name: str, flavor: str = "claude") -> tuple[str, str, str] | None:
    """``(provider, model, rule)``"""
    found = match_model(price_table(), flavor, name)
    return None if found is None else (found.provider.id, found.model.id, found.rule)


# ------------------------------------------------------------ names


def test_a_name_that_says_no_provider_is_looked_up_at_the_agents_own() -> None:
    assert meaning("babbage-002", "codex") == ("openai", "babbage-002", "at home in codex")
    assert meaning("babbage-002", "claude") is None
    assert meaning("babbage-002", "live") is None


def test_a_dated_name_that_is_not_listed_has_the_price_of_the_name_without_date() -> None:
    expected = ("openai", "gpt-5.5", "without its date")
    assert meaning("gpt-5.5-2031-01-01") == expected
    assert meaning("gpt-5.5-20310101") == expected
    assert meaning("gpt-5.5@20310101") == expected
    assert meaning("gpt-5.5-2031-01-01-preview") != expected


def test_a_dated_name_without_provider_is_looked_up_without_date_at_the_agents_own() -> None:
    rule = "without its date"
    assert meaning("babbage-002-20310101", "codex") == ("openai", "babbage-002", rule)
    assert meaning("babbage-002-20310101", "claude") is None


def test_a_route_that_does_not_list_the_model_leaves_the_price_to_its_maker() -> None:
    found = meaning("cohere/claude-opus-4-6")
    assert found is not None and found[:2] == ("anthropic", "claude-opus-4-6")
    assert meaning("cohere/team/claude-opus-4-6") == found


def test_what_bedrock_does_not_list_has_its_makers_price() -> None:
    found = meaning("xx.anthropic.claude-opus-4-6-20310101")
    assert found is not None and found[:2] == ("anthropic", "claude-opus-4-6")


def test_what_openrouter_does_not_list_has_its_makers_price() -> None:
    found = meaning("openrouter/nobody/claude-opus-4-6-20310101")
    assert found is not None and found[:2] == ("anthropic", "claude-opus-4-6")


def test_a_provider_that_serves_the_models_of_another_charges_its_price() -> None:
    assert meaning("azure/gpt-5.5") == ("openai", "gpt-5.5", "azure/ in front")


def test_a_name_longer_than_any_is_not_looked_up() -> None:
    names = ["cohere/" + "claude-opus-4-6".rjust(size - 7, "/") for size in (256, 257)]
    assert [meaning(name) is not None for name in names] == [True, False]


# ------------------------------------------------------------ tiers


@pytest.mark.parametrize("tier", ["priority", "unheard-of", None])
def test_a_tier_without_a_price_of_its_own_costs_the_standard_price(tier: str | None) -> None:
    found = match_model(price_table(), "claude", "claude-opus-4-6")
    assert found is not None and "priority" not in found.model.rows
    rates = rates_of(price_table(), {}, [UsageKind("claude", "claude-opus-4-6", tier=tier)])
    assert [rate.price for rate in rates] == list(found.model.rows[STANDARD])
    assert {rate.rule for rate in rates} == {"by its name"}


def test_fast_mode_without_a_price_of_its_own_has_no_price() -> None:
    (rate,) = rates_of(price_table(), {}, [UsageKind("claude", "claude-haiku-4-5", speed="fast")])
    assert rate.price is None


# ------------------------------------------------------------ prices of one's own


def own_rate(price: OwnPrice) -> Rate:
    (rate,) = rates_of(price_table(), {"mine": price}, [UsageKind("claude", "mine")])
    return rate


def test_without_a_cache_price_cached_tokens_cost_what_input_costs() -> None:
    row = own_rate(OwnPrice(input=2.0, output=10.0)).price
    assert row is not None
    assert (row.input, row.output) == (2_000_000, 10_000_000)
    assert (row.cache_read, row.cache_write, row.cache_write_1h) == (2_000_000,) * 3


def test_without_a_price_for_an_hour_a_cache_write_costs_what_a_short_one_costs() -> None:
    row = own_rate(OwnPrice(input=2.0, output=10.0, cache_read=0.5, cache_write=3.0)).price
    assert row is not None
    assert (row.cache_read, row.cache_write, row.cache_write_1h) == (500_000, 3_000_000, 3_000_000)


def test_a_price_of_nothing_is_a_price() -> None:
    free = OwnPrice(input=2.0, output=10.0, cache_read=0.0, cache_write=0.0, cache_write_1h=0.0)
    row = own_rate(free).price
    assert row is not None
    assert (row.cache_read, row.cache_write, row.cache_write_1h) == (0, 0, 0)


# ------------------------------------------------------------ rates that cover everything


def test_what_the_program_wrote_itself_is_free_at_any_time_and_size() -> None:
    (rate,) = rates_of(price_table(), {}, [UsageKind("claude", "<synthetic>")])
    assert rate.price is not None
    row = rate.price
    assert (row.input, row.cache_read, row.cache_write, row.cache_write_1h) == (0, 0, 0, 0)
    assert (row.output, row.search, rate.above, rate.is_for_hours) == (0, 0, 0, False)
    assert rate.words == "nobody, written by the agent itself"


def test_a_price_for_a_part_of_the_day_says_its_hours() -> None:
    rates = rates_of(price_table(), {}, [UsageKind("pi", "deepseek-chat")])
    hours = [rate.words.rpartition(", ")[2] for rate in rates if rate.is_for_hours]
    assert hours == ["00:00-00:30 UTC", "00:30-16:30 UTC", "16:30-24:00 UTC"]
