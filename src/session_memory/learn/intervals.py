"""Rates with how far they may be trusted: Wilson's interval for one, Newcombe's for a difference.

Both hold for small counts and for rates of 0 and 1, where the usual formula says nothing.
"""

from math import sqrt

Z = 1.959963984540054
"""For intervals that hold the true value 95 times of 100."""
METHOD = "95 % intervals: Wilson score for rates, Newcombe's hybrid score for their difference"


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Between which rates the true one lies; everything is possible where nothing was seen."""
    if not of:
        return 0.0, 1.0
    rate, part = hits / of, Z * Z / of
    middle = rate + part / 2
    half = Z * sqrt(rate * (1 - rate) / of + part / (4 * of))
    # At the ends rounding would leave 0 or 1 by a hair.
    low = 0.0 if hits == 0 else max((middle - half) / (1 + part), 0.0)
    high = 1.0 if hits == of else min((middle + half) / (1 + part), 1.0)
    return low, high


def newcombe(hits: int, of: int, hits_then: int, of_then: int) -> tuple[float, float]:
    """Between which values the rate now less the rate then lies."""
    if not of or not of_then:
        return -1.0, 1.0
    now, then = hits / of, hits_then / of_then
    low_now, high_now = wilson(hits, of)
    low_then, high_then = wilson(hits_then, of_then)
    difference = now - then
    return (
        difference - sqrt((now - low_now) ** 2 + (high_then - then) ** 2),
        difference + sqrt((high_now - now) ** 2 + (then - low_then) ** 2),
    )
