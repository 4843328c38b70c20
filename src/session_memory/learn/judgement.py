"""Judge whether a problem became rarer after a lesson, or whether chance can explain it.

Problems come and go without any lesson. So a change counts only if three comparisons show it: of
sessions, of days, and of pairs of neighbouring days. A lesson is written when its problem was seen
lately. So the rate before the lesson is higher than usual and falls by itself (regression to the
mean). Therefore the last sessions with the problem before the lesson are left out when a fall is
judged.
"""

from collections.abc import Sequence
from typing import NamedTuple

from session_memory.learn.chance import (
    Observation,
    chance_of_fall,
    least_chance,
    without_newest,
)
from session_memory.learn.intervals import newcombe

HELPED, UNCLEAR, DID_NOT_HELP, WORSE = "helped", "unclear", "did_not_help", "worse"
# A lesson is usually written because of this many sessions with the problem.
REASONS_FOR_A_LESSON = 3
BY_DAY, BY_TWO_DAYS = 0.01, 0.025


class Judgement(NamedTuple):
    """Whether a lesson helped (``verdict``), and the reason as a sentence.

    ``chance`` is the probability that chance alone gives such a change, if it was computed.
    """

    verdict: str
    reason: str
    chance: float | None = None


def judge(before: Sequence[Observation], after: Sequence[Observation]) -> Judgement:
    """Compare the sessions before a lesson with those after it. Each side is in order of time."""
    low, high = newcombe(_showing(after), len(after), _showing(before), len(before))
    if _rate(after) < _rate(before):
        return _judge_fall(before, after, is_outside=high < 0)
    # With both sides exchanged, `chance_of_fall` gives the probability that chance alone makes the
    # problem so much more frequent.
    chance = chance_of_fall(after, before)
    is_clear = chance <= BY_DAY and chance_of_fall(after, before, 2) <= BY_TWO_DAYS
    if low > 0 and is_clear:
        return Judgement(WORSE, "clearly worse than before, also day by day", chance)
    if low > -_rate(before) / 2:
        reason = "no better than before; the interval excludes that the problem is half as frequent"
        return Judgement(DID_NOT_HELP, reason, chance)
    return Judgement(
        UNCLEAR, "no better so far, but on too few sessions to say that it does not help", chance
    )


def _judge_fall(
    before: Sequence[Observation], after: Sequence[Observation], *, is_outside: bool
) -> Judgement:
    """Judge a problem that is rarer after the lesson.

    ``is_outside``: 0 is outside the confidence interval of the difference between the two rates.
    """
    usual = without_newest(before, REASONS_FOR_A_LESSON)
    chance = chance_of_fall(usual, after)
    if is_outside and chance <= BY_DAY and chance_of_fall(usual, after, 2) <= BY_TWO_DAYS:
        return Judgement(HELPED, "clearly better than before, also day by day", chance)
    if least_chance(usual, after, 2) > BY_TWO_DAYS:
        reason = "better so far, but on too few days to tell it from chance"
        return Judgement(UNCLEAR, reason, chance)
    return Judgement(UNCLEAR, "better than before, but chance alone can explain it", chance)


def _showing(observed: Sequence[Observation]) -> int:
    return sum(one.shows for one in observed)


def _rate(observed: Sequence[Observation]) -> float:
    return _showing(observed) / len(observed) if observed else 0.0
