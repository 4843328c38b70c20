"""The three passes: what goes is what may go, and nothing more than has to."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from session_memory.config import RetentionConfig
from session_memory.retain.passes import (
    AGE,
    DATA_LOSS,
    DAY_MS,
    HARD_CAP,
    SOFT_CAP,
    PlannedEviction,
    plan,
    waiting_for_analysis,
)
from session_memory.retain.units import Unit

NOW = 1000 * DAY_MS


@st.composite
def stores(draw: st.DrawFn) -> list[Unit]:
    """Units of any size and age, the oldest first."""
    made = draw(
        st.lists(
            st.tuples(st.integers(0, 1000), st.integers(1, 50), st.booleans(), st.booleans()),
            max_size=12,
        )
    )
    return [
        Unit(
            uids=(f"claude:{number}",),
            sessions=(number,),
            revisions=(1,),
            sources=(number,),
            bytes=size,
            last_at=day * DAY_MS,
            is_analyzed=analyzed,
            is_pinned=pinned,
        )
        for number, (day, size, analyzed, pinned) in enumerate(sorted(made))
    ]


limits = st.builds(
    RetentionConfig,
    raw_max_age_days=st.integers(0, 1000),
    raw_soft_cap_bytes=st.integers(0, 300),
    raw_hard_cap_bytes=st.integers(0, 300),
)


class Analysis:
    """Analyzes some, fails on others, and remembers whom it was asked about."""

    def __init__(self, able: set[int]) -> None:
        self.able = able
        self.asked: list[Unit] = []

    def __call__(self, unit: Unit) -> Unit:
        self.asked.append(unit)
        done = unit.is_analyzed or unit.sessions[0] in self.able
        return msgspec.structs.replace(unit, is_analyzed=done)


def planned(
    units: list[Unit], caps: RetentionConfig, able: set[int]
) -> tuple[list[PlannedEviction], Analysis]:
    analysis = Analysis(able)
    used = sum(unit.bytes for unit in units)
    return plan(units, used, caps, NOW, analysis), analysis


@given(stores(), limits, st.sets(st.integers(0, 12)))
def test_what_was_not_analyzed_goes_only_as_a_reported_loss(
    units: list[Unit], caps: RetentionConfig, able: set[int]
) -> None:
    steps, analysis = planned(units, caps, able)
    by_uid = {unit.uids: unit for unit in units}
    for step in steps:
        before = by_uid[step.unit.uids]
        assert not before.is_pinned
        if step.why in (AGE, SOFT_CAP):
            assert before.is_analyzed
        if step.why == HARD_CAP:
            assert step.unit.is_analyzed
        if step.why == DATA_LOSS:
            assert not step.unit.is_analyzed
            # It was tried first.
            assert before in analysis.asked


@given(stores(), limits, st.sets(st.integers(0, 12)))
def test_nothing_goes_that_the_limits_do_not_ask_for(
    units: list[Unit], caps: RetentionConfig, able: set[int]
) -> None:
    steps, _ = planned(units, caps, able)
    left = sum(unit.bytes for unit in units)
    for step in steps:
        if step.why == AGE:
            assert NOW - step.unit.last_at > caps.raw_max_age_days * DAY_MS
        if step.why == SOFT_CAP:
            assert left > caps.raw_soft_cap_bytes
        if step.why in (HARD_CAP, DATA_LOSS):
            assert left > caps.raw_hard_cap_bytes
        left -= step.unit.bytes
    assert len({step.unit.uids for step in steps}) == len(steps)


@given(stores(), limits, st.sets(st.integers(0, 12)))
def test_afterwards_the_limits_hold_but_for_what_may_not_go(
    units: list[Unit], caps: RetentionConfig, able: set[int]
) -> None:
    steps, _ = planned(units, caps, able)
    gone = {step.unit.uids for step in steps}
    rest = [unit for unit in units if unit.uids not in gone]
    left = sum(unit.bytes for unit in rest)
    old = [u for u in rest if NOW - u.last_at > caps.raw_max_age_days * DAY_MS]
    assert not [unit for unit in old if unit.is_evictable]
    assert left <= caps.raw_soft_cap_bytes or not [u for u in rest if u.is_evictable]
    assert left <= caps.raw_hard_cap_bytes or all(unit.is_pinned for unit in rest)


@given(stores(), limits)
def test_the_oldest_go_first(units: list[Unit], caps: RetentionConfig) -> None:
    steps, _ = planned(units, caps, set())
    for why in (AGE, SOFT_CAP, HARD_CAP, DATA_LOSS):
        moments = [step.unit.last_at for step in steps if step.why == why]
        assert moments == sorted(moments)


def unit_of(age_ms: int, *, is_analyzed: bool) -> Unit:
    return Unit(
        uids=("claude:a",),
        sessions=(1,),
        revisions=(1,),
        sources=(1,),
        bytes=10,
        last_at=NOW - age_ms,
        is_analyzed=is_analyzed,
    )


def test_a_unit_goes_or_waits_when_it_is_older_than_the_limit_and_not_before() -> None:
    caps = RetentionConfig(raw_max_age_days=7)
    for age_ms, is_over in ((7 * DAY_MS, False), (7 * DAY_MS + 1, True)):
        steps, _ = planned([unit_of(age_ms, is_analyzed=True)], caps, set())
        waiting = waiting_for_analysis([unit_of(age_ms, is_analyzed=False)], 10, caps, NOW)
        assert (bool(steps), bool(waiting)) == (is_over, is_over)


def test_a_unit_waits_when_the_soft_cap_is_exceeded_and_not_before() -> None:
    for used, is_over in ((100, False), (101, True)):
        caps = RetentionConfig(raw_soft_cap_bytes=100)
        waiting = waiting_for_analysis([unit_of(0, is_analyzed=False)], used, caps, NOW)
        assert bool(waiting) is is_over


def test_a_store_within_its_limits_loses_nothing() -> None:
    unit = unit_of(DAY_MS, is_analyzed=True)
    steps, analysis = planned([unit], RetentionConfig(), set())
    assert (steps, analysis.asked) == ([], [])
