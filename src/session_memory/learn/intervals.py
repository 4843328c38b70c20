"""Compute 95 % confidence intervals: Wilson's for a rate, Newcombe's for a difference of rates.

Both work for small counts and for rates of 0 and 1, where the usual formula fails.
"""

from math import sqrt

Z = 1.959963984540054
"""The z value of a 95 % interval."""
METHOD = "95 % intervals: Wilson score for rates, Newcombe's hybrid score for their difference"


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return the interval of the true rate, given ``hits`` among ``of`` observations.

    Without observations, the interval is ``(0, 1)``.
    """
    if not of:
        return 0.0, 1.0
    rate, part = hits / of, Z * Z / of
    middle = rate + part / 2
    half = Z * sqrt(rate * (1 - rate) / of + part / (4 * of))
    # Rounding errors must not give values just beside 0 or 1.
    low = 0.0 if hits == 0 else max((middle - half) / (1 + part), 0.0)
    high = 1.0 if hits == of else min((middle + half) / (1 + part), 1.0)
    return low, high


def newcombe(hits: int, of: int, hits_then: int, of_then: int) -> tuple[float, float]:
    """Return the interval of a difference: the rate now minus the rate then.

    Without observations on one side, the interval is ``(-1, 1)``.
    """
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
