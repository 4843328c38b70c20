"""Compute how likely it is that chance alone made a problem rarer (or more frequent).

This is a permutation test. Sessions of one day are alike (the same task, the same broken
dependency), so days are exchanged and not sessions. The days before and after a lesson are
exchanged in every possible way, or in many random ways if there are too many. The result is the
share of exchanges whose change is at least as large as the real one. Problems also come in bursts
of several days, so neighbouring days can be kept together as one block.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from random import Random
from typing import NamedTuple

MOST_EXCHANGES = 4_000
# A fixed start, so that the same sessions always give the same figure.
_SEED = 20_250_101
_ROUNDING = 1e-12


class Observation(NamedTuple):
    """A session: the number of its day, and whether it shows the problem."""

    day: int
    shows: bool


class _Block(NamedTuple):
    sessions: int
    showing: int


def chance_of_fall(
    before: Sequence[Observation], after: Sequence[Observation], days: int = 1
) -> float:
    """Return the probability that the problem becomes at least this much rarer by chance alone.

    The observations are cut into blocks of ``days`` days with sessions, and whole blocks are
    exchanged (see the module). The result is 1 if there are no sessions before or none after.
    """
    if not before or not after:
        return 1.0
    then, now = _blocks(before, days), _blocks(after, days)
    real = _fall(_sum(then), _sum(now))
    blocks, whole = [*then, *now], _sum([*then, *now])
    count, as_much = 0, 0
    for chosen in _exchanges(len(blocks), len(now)):
        part = _sum([blocks[place] for place in chosen])
        rest = _Block(whole.sessions - part.sessions, whole.showing - part.showing)
        count += 1
        as_much += _fall(rest, part) >= real - _ROUNDING
    is_sampled = comb(len(blocks), len(now)) > MOST_EXCHANGES
    # A random sample may lack the real order, so the real order is counted as one more exchange.
    return (as_much + is_sampled) / (count + is_sampled)


def least_chance(before: Sequence[Observation], after: Sequence[Observation], days: int) -> float:
    """Return a lower bound of what `chance_of_fall` returns for these days with sessions."""
    then, now = len(_blocks(before, days)), len(_blocks(after, days))
    return 1 / comb(then + now, now)


def without_newest(observations: Sequence[Observation], count: int) -> list[Observation]:
    """Return the observations without the last ``count`` of those that show the problem."""
    kept: list[Observation] = []
    for one in reversed(observations):
        if one.shows and count:
            count -= 1
        else:
            kept.append(one)
    return kept[::-1]


def _blocks(observations: Sequence[Observation], days: int) -> list[_Block]:
    by_day: dict[int, _Block] = {}
    for day, shows in sorted(observations):
        known = by_day.get(day, _Block(0, 0))
        by_day[day] = _Block(known.sessions + 1, known.showing + shows)
    in_order = list(by_day.values())
    return [_sum(in_order[place : place + days]) for place in range(0, len(in_order), days)]


def _sum(blocks: Sequence[_Block]) -> _Block:
    return _Block(sum(one.sessions for one in blocks), sum(one.showing for one in blocks))


def _fall(then: _Block, now: _Block) -> float:
    return then.showing / then.sessions - now.showing / now.sessions


def _exchanges(blocks: int, chosen: int) -> Iterator[Sequence[int]]:
    if comb(blocks, chosen) <= MOST_EXCHANGES:
        yield from combinations(range(blocks), chosen)
        return
    random = Random(_SEED)
    for _ in range(MOST_EXCHANGES):
        yield random.sample(range(blocks), chosen)
