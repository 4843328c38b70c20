"""The user's own prices apply everywhere: on the command line, and for every opened store."""

from pathlib import Path

import pytest

from session_memory.core.errors import ConfigError
from session_memory.pricing import session_amounts
from session_memory.store import open_store
from session_memory.views.cost import CostFilter, cost_report

from .conftest import AskCli


def library_total(place: Path) -> int:
    with open_store(place) as store:
        return cost_report(store, CostFilter()).totals.microdollars


def test_a_store_opened_in_python_costs_what_the_command_line_says(
    place: Path, own_prices: Path, cli: AskCli
) -> None:
    total = cli("cost")["totals"]["microdollars"]
    assert library_total(place) == total
    with open_store(place) as store:
        amounts = session_amounts(store)
    assert sum(amount.microdollars for amount in amounts.values()) == total
    own_prices.unlink()
    assert library_total(place) == cli("cost")["totals"]["microdollars"] < total // 10


def test_prices_set_on_a_store_are_used_instead_of_those_of_the_file(
    place: Path, own_prices: Path
) -> None:
    with open_store(place) as store:
        store.own_prices = dict
        assert cost_report(store, CostFilter()).totals.microdollars < library_total(place) // 10


def test_a_wrong_configuration_is_an_error_and_not_another_price(
    place: Path, own_prices: Path
) -> None:
    own_prices.write_text('[prices."claude-*"]\ninput = "cheap"\n')
    with pytest.raises(ConfigError, match="expected a number"):
        library_total(place)
