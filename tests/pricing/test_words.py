"""Money as people read it: never rounded to nothing, never an unpriced model as zero."""

import pytest

from session_memory.pricing import Amount, dollars, shown


@pytest.mark.parametrize(
    ("microdollars", "text"),
    [
        (0, "$0.00"),
        (1, "$0.000001"),
        (99, "$0.000099"),
        (100, "$0.0001"),
        (4_200, "$0.0042"),
        (99_949, "$0.0999"),
        (99_999, "$0.1000"),
        (100_000, "$0.10"),
        (1_005_000, "$1.01"),
        (1_234_567_891, "$1,234.57"),
        (-1_500_000, "-$1.50"),
    ],
)
def test_dollars_have_as_many_digits_as_they_need(microdollars: int, text: str) -> None:
    assert dollars(microdollars) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Amount(), "-"),
        (Amount(1_230_000), "$1.23"),
        (Amount(0, 5), "unpriced"),
        (Amount(1_230_000, 5), "$1.23 + unpriced"),
    ],
)
def test_what_has_no_price_is_said(amount: Amount, text: str) -> None:
    assert shown(amount) == text
