"""Measuring: the loop closes on a synthetic fleet, and says when it cannot say anything."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.config import LessonsConfig
from session_memory.core.time import MAX_MS, MIN_MS, parse_time
from session_memory.learn.applied import AppliedLessons
from session_memory.learn.chance import Observation
from session_memory.learn.curate import accept, edit, merge
from session_memory.learn.fleet_metrics import fleet_report
from session_memory.learn.intervals import newcombe, wilson
from session_memory.learn.judgement import judge
from session_memory.learn.lesson import Lesson
from session_memory.learn.lessons import Lessons
from session_memory.learn.measure import Measurement, measure
from session_memory.learn.patterns import patterns
from session_memory.learn.proposals import propose
from session_memory.learn.targets import Target
from session_memory.store import Store

from .fleets import (
    AFTER,
    AGENTS,
    APPLIED,
    BEFORE,
    ERROR,
    REPO,
    SyntheticFleet,
    at,
    recurring,
    trace,
)

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

FLOORS = LessonsConfig()


class Loop:
    """From sessions to a lesson in a file, and on to more sessions."""

    def __init__(self, tmp_path: Path) -> None:
        self.fleet = SyntheticFleet(tmp_path / "home")
        self.lessons = Lessons(tmp_path / "lessons")
        self.applied = AppliedLessons(tmp_path / "applied")
        self.project = tmp_path / REPO
        self.project.mkdir()

    def accept(self, store: Store, text: str = "zonal") -> Lesson:
        return accept(self.lessons, store, recurring(store, text), FLOORS, at(APPLIED))

    def apply(self, name: str = "CLAUDE.md", *, time: str = APPLIED, repo: str = REPO) -> None:
        file = Target(self.project / name, repo, (name,))
        found, _ = self.lessons.read()
        proposal = propose(file, found, FLOORS, around=self.applied.around(file.path))
        assert proposal.lessons
        self.applied.apply(proposal, at(time))

    def measure(
        self, store: Store, lesson: Lesson, *, least: int = 5, days: int = 90
    ) -> Measurement:
        periods = self.applied.periods(lesson.id)
        (item,) = measure(store, [lesson], periods, least=least, days=days)
        return item


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return Loop(tmp_path)


def counts(expected: Measurement) -> tuple[int, int, int, int]:
    before, after = expected.before, expected.after
    return before.showing, before.sessions, after.showing, after.sessions


# ---------------------------------------------------------------- the loop


@pytest.mark.parametrize("again", [False, True], ids=["gone", "still there"])
def test_the_loop_closes_for_three_agents(loop: Loop, everywhere: None, again: bool) -> None:
    fleet = loop.fleet
    for agent in AGENTS:
        fleet.daily("2026-10-24", [ERROR, ERROR, ERROR, None] * 3, agent=agent)
    with fleet.learned() as store:
        pattern = recurring(store)
        assert pattern.cross_flavor and pattern.sessions == 27
        lesson = loop.accept(store)
        loop.apply("CLAUDE.md")
        loop.apply("AGENTS.md")
        result = loop.measure(store, lesson)
        assert (result.verdict, counts(result)) == ("too_little_data", (27, 36, 0, 0))
        assert result.reason == "too few sessions: 5 more after needed"

        for agent in AGENTS:
            some = [ERROR if again else None] * 3
            fleet.daily("2026-11-06", [*some, None] * 3, agent=agent)
        fleet.learned(store)
        result = loop.measure(store, lesson)
    if again:
        assert (result.verdict, counts(result)) == ("did_not_help", (27, 36, 27, 36))
        assert result.difference == 0
        assert result.low < 0 < result.high
    else:
        assert (result.verdict, counts(result)) == ("helped", (27, 36, 0, 36))
        assert result.high < 0 and result.chance is not None and result.chance <= 0.01
        assert result.after.tokens == 0 < result.before.tokens
    assert (result.before.days, result.after.days) == (12, 12)
    assert result.before.low < 0.75 < result.before.high
    assert result.applied_at == "2026-11-05T12:00:00.000Z"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        # Eight of eight sessions had it, and none of eight since: but all on two days.
        pytest.param([8], [0] * 8, "unclear", id="one bad day"),
        pytest.param([1] * 4, [0] * 4, "unclear", id="too few days"),
        pytest.param([1] * 12, [0] * 12, "helped", id="clear"),
        pytest.param([0] * 9 + [1] * 3, [0] * 12, "unclear", id="the reason for the lesson"),
        pytest.param([1, 0, 0] * 4, [1] * 12, "worse", id="worse"),
        pytest.param([0, 0, 1] * 2, [0, 0, 1] * 2, "unclear", id="too few to say it did not"),
        pytest.param([1, 0] * 16, [1, 0] * 16, "did_not_help", id="did not"),
    ],
)
def test_what_chance_can_explain_is_unclear(
    before: list[int], after: list[int], verdict: str
) -> None:
    assert judge(_on_days(0, before), _on_days(100, after)).verdict == verdict


def _on_days(first: int, days: list[int]) -> list[Observation]:
    """Days with that many sessions with the problem; 0 is a day with one session without it."""
    return [
        Observation(first + place, bool(count))
        for place, count in enumerate(days)
        for _ in range(count or 1)
    ]


def test_what_became_rarer_by_chance_alone_is_called_unclear(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(4, problem=ERROR)
    loop.fleet.sessions(2)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply()
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(2, problem=ERROR)
        loop.fleet.sessions(4)
        result = loop.measure(loop.fleet.learned(store), lesson)
    assert (result.verdict, counts(result)) == ("unclear", (4, 6, 2, 6))


@pytest.mark.parametrize(("least", "verdict"), [(7, "too_little_data"), (6, "unclear")])
def test_how_many_sessions_are_enough_can_be_set(loop: Loop, least: int, verdict: str) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(6, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply()
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(6)
        assert loop.measure(loop.fleet.learned(store), lesson, least=least).verdict == verdict


def test_a_lesson_that_was_never_applied_has_no_effect(loop: Loop) -> None:
    loop.fleet.sessions(3, problem=ERROR)
    with loop.fleet.learned() as store:
        assert loop.measure(store, loop.accept(store)).verdict == "not_applied"


@pytest.mark.parametrize("how", ["file", "block", "lesson"])
def test_a_lesson_that_somebody_took_out_of_the_file_has_no_verdict(loop: Loop, how: str) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(8, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply("CLAUDE.md")
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(8)
        loop.fleet.learned(store)
        assert loop.measure(store, lesson).verdict == "unclear"
        path = loop.project / "CLAUDE.md"
        if how == "file":
            path.unlink()
        elif how == "block":
            path.write_text("# Mine\n")
        else:
            path.write_text(path.read_text().replace(lesson.id, "l-another"))
        result = loop.measure(store, lesson)
        assert (result.verdict, counts(result)) == ("gone", (8, 8, 0, 0))
        assert result.reason.startswith("deleted from the file at an unknown time")
        assert str(path) in result.reason


def test_a_lesson_that_is_left_in_one_of_two_files_is_measured_by_that_one(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(8, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply("CLAUDE.md")
        loop.apply("AGENTS.md")
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(8)
        loop.fleet.learned(store)
        (loop.project / "AGENTS.md").unlink()
        assert loop.measure(store, lesson).verdict == "unclear"


# ---------------------------------------------------------------- who counts


def test_only_agents_that_read_the_file_count(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    for agent in AGENTS:
        loop.fleet.sessions(2, problem=ERROR, agent=agent)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply("GROK.md")
        loop.fleet.go_to(AFTER)
        for agent in AGENTS:
            loop.fleet.sessions(1, agent=agent)
        result = loop.measure(loop.fleet.learned(store), lesson, least=1)
    assert counts(result) == (2, 2, 0, 1)


def test_only_the_repository_of_the_file_counts(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = accept(loop.lessons, store, recurring(store), FLOORS, at(APPLIED), repos=())
        loop.apply(repo="elsewhere")
        assert counts(loop.measure(store, lesson)) == (0, 0, 0, 0)


def test_a_session_that_was_under_way_counts_for_neither_side(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    loop.fleet.go_to("2026-11-05T11:59:58Z")
    loop.fleet.session("claude", problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply()
        assert counts(loop.measure(store, lesson)) == (3, 3, 0, 0)


def test_subagents_count_for_neither_side(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    log = loop.fleet.claude.session("asking")
    log.prompt("let somebody else do it")
    agent = loop.fleet.claude.subagent(log, "a1")
    agent.prompt("do it")
    agent.run("python main.py", trace(ERROR), exit_code=1)
    agent.answer("It fails.")
    log.answer("It fails.")
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        assert agent.uid in lesson.session_uids
        loop.apply()
        assert counts(loop.measure(store, lesson)) == (3, 4, 0, 0)


def test_sessions_after_it_was_taken_back_do_not_count(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply()
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(2)
        loop.applied.revert(loop.project / "CLAUDE.md", at("2026-11-07T00:00:00Z"))
        loop.fleet.go_to("2026-11-08T00:00:00Z")
        loop.fleet.sessions(5, problem=ERROR)
        result = loop.measure(loop.fleet.learned(store), lesson)
    assert counts(result) == (3, 3, 0, 2)
    assert result.ended_at == "2026-11-07T00:00:00.000Z"


def test_what_lies_too_far_back_does_not_count(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply()
        assert counts(loop.measure(store, lesson, days=3)) == (0, 0, 0, 0)
        assert counts(loop.measure(store, lesson, days=4)) == (3, 3, 0, 0)


def test_one_more_occurrence_is_seen_although_once_does_not_recur(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(5, problem=ERROR)
    with loop.fleet.learned() as store:
        lesson = loop.accept(store)
        loop.apply()
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(4)
        loop.fleet.session("claude", problem=ERROR, fixed=False)
        result = loop.measure(loop.fleet.learned(store), lesson)
    assert counts(result) == (5, 5, 1, 5)


def test_a_merged_lesson_is_measured_by_all_of_its_patterns(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    loop.fleet.sessions(3, problem="ValueError: bad zodiac")
    with loop.fleet.learned() as store:
        one, two = loop.accept(store), loop.accept(store, "zodiac")
        joined = merge(loop.lessons, one.id, [two.id], at(APPLIED))
        loop.apply()
        assert counts(loop.measure(store, joined)) == (6, 6, 0, 0)


def test_an_instruction_is_measured_by_its_words_not_by_how_it_was_put(loop: Loop) -> None:
    fleet = loop.fleet
    fleet.go_to(BEFORE)
    for said in ("never commit without running the linter", "never commit without the linter") * 3:
        fleet.session("claude", prompt=said)
        fleet.go_to("2026-11-03T09:00:00Z")
    with fleet.learned() as store:
        (item,) = [p for p in patterns(store) if p.type == "recurring_instruction"]
        lesson = accept(loop.lessons, store, item, FLOORS, at(APPLIED))
        loop.apply()
        fleet.go_to(AFTER)
        fleet.session("claude", prompt="never commit without running our linter")
        fleet.sessions(5)
        measured = loop.measure(fleet.learned(store), lesson)
    assert (measured.verdict, counts(measured)) == ("unclear", (6, 6, 1, 6))


def test_a_place_with_a_secret_in_it_is_measured_without_being_told(loop: Loop) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    loop.fleet.go_to(BEFORE)
    for number in range(3):
        log = loop.fleet.claude.session(f"push-{number}")
        log.prompt(f"push it, part {number}")
        for _ in range(3):
            log.run(f"deploy --key {secret}", "no", exit_code=1)
        log.answer("It does not work.")
    with loop.fleet.learned() as store:
        (storm,) = [p for p in patterns(store) if p.type == "retry_storm"]
        assert storm.locus == "Bash: deploy --key [redacted:github-token]"
        lesson = accept(loop.lessons, store, storm, FLOORS, at(APPLIED))
        lesson = edit(loop.lessons, lesson.id, at(APPLIED), resolution="Ask for another key.")
        loop.apply()
        assert counts(loop.measure(store, lesson)) == (3, 3, 0, 0)
    written = loop.project / "CLAUDE.md", *loop.lessons.directory.rglob("*.*")
    assert not [one for one in written if secret.lower() in one.read_text("utf-8").lower()]


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        # Figures of the literature: Newcombe 1998, and 0 of n and n of n.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_is_the_published_one(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((10, 10, 0, 20), 0.6791, 1.0000),
    ],
)
def test_newcombes_interval_is_the_published_one(
    counts: tuple[int, int, int, int], low: float, high: float
) -> None:
    assert newcombe(*counts) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 300).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_an_interval_holds_its_rate_and_stays_between_0_and_1(counted: tuple[int, int]) -> None:
    hits, of = counted
    low, high = wilson(hits, of)
    assert 0 <= low <= high <= 1
    if of:
        assert low <= hits / of <= high
    low, high = newcombe(hits, of, hits, of)
    assert low <= 0 <= high


# ---------------------------------------------------------------- the fleet


def test_the_figures_of_a_fleet_are_counted_right(loop: Loop, everywhere: None) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(3, problem=ERROR)
    loop.fleet.session("claude", problem="ValueError: only once")
    loop.fleet.sessions(4)
    with loop.fleet.learned() as store:
        report = fleet_report(store, since=MIN_MS, until=MAX_MS)
        elsewhere = fleet_report(store, since=MIN_MS, until=MAX_MS, repo="elsewhere")
    found = report.metrics
    assert (found.sessions, found.with_errors, found.errors) == (8, 4, 4)
    assert found.error_rate == 0.5
    assert (found.error_rate_low, found.error_rate_high) == wilson(4, 8)
    assert found.recurring_errors == 1
    assert found.overhead_share == found.overhead_tokens / found.tokens
    assert 0 < found.overhead_share < 1
    assert found.priced_sessions == 8
    costs = found.cost_percentiles
    assert costs["p50"] <= costs["p90"] <= costs["p99"]
    assert elsewhere.metrics.sessions == 0
    assert elsewhere.metrics.error_rate is None


def test_the_trend_goes_week_by_week_and_adds_up(loop: Loop) -> None:
    for time, problem in ((BEFORE, ERROR), ("2026-11-12T09:00:00Z", None)):
        loop.fleet.go_to(time)
        loop.fleet.sessions(2, problem=problem)
    with loop.fleet.learned() as store:
        until = parse_time("2026-11-15T00:00:00Z")
        report = fleet_report(store, since=until - 30 * 86_400_000, until=until)
    items = [
        (week.since[:10], week.metrics.sessions, week.metrics.error_rate) for week in report.trend
    ]
    assert items == [("2026-11-01", 2, 1.0), ("2026-11-08", 2, 0.0)]
    assert report.metrics.sessions == 4


def test_a_baseline_is_compared_with_what_is_now(loop: Loop) -> None:
    loop.fleet.go_to(BEFORE)
    loop.fleet.sessions(10, problem=ERROR)
    with loop.fleet.learned() as store:
        middle = parse_time(APPLIED)
        then = fleet_report(store, since=MIN_MS, until=middle)
        loop.applied.save_baseline({"taken_at": APPLIED, "metrics": then.to_dict()["metrics"]})
        loop.fleet.go_to(AFTER)
        loop.fleet.sessions(10)
        loop.fleet.learned(store)
        kept = loop.applied.baseline()
        now = fleet_report(store, since=middle, until=MAX_MS, baseline=kept)
    assert kept is not None and kept["taken_at"] == APPLIED
    assert now.error_rate_change == pytest.approx((-1.0, *newcombe(0, 10, 10, 10)))
