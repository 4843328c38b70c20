"""Patterns: the same signals give the same patterns, the worst first."""

from random import Random

import msgspec
import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.learn.advice import advice, title
from session_memory.learn.analyze import analyze
from session_memory.learn.detect import detectors
from session_memory.learn.noise import is_noise, is_rare
from session_memory.learn.patterns import cluster, pattern_id, patterns, score
from session_memory.learn.signal import Signal
from session_memory.store.digests import ErrorRow
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import collected
from session_memory.testing.planted import plant

from .sessions import NOW

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

TIMES = ("2026-07-01T10:00:00.000Z", "2026-07-02T10:00:00.000Z", None)


@st.composite
def some_signal(draw: st.DrawFn) -> Signal:
    flavor = draw(st.sampled_from(("claude", "codex")))
    return Signal(
        session_uid=f"{flavor}:{draw(st.integers(1, 4))}",
        flavor=flavor,
        repo=draw(st.sampled_from(("app", "web", None))),
        type=draw(st.sampled_from(("retry_storm", "recurring_error", "repeated_error"))),
        polarity="problem",
        locus=draw(st.sampled_from(("here", "there"))),
        magnitude=draw(st.integers(1, 5)),
        detail=draw(st.sampled_from(("this", "that"))),
        tokens=draw(st.integers(0, 10**6)),
        basis=draw(st.sampled_from(("measured", "estimated"))),
        evidence=tuple(draw(st.lists(st.sampled_from("abc"), max_size=2))),
        at=draw(st.sampled_from(TIMES)),
    )


@settings(max_examples=times(40), deadline=None)
@given(st.lists(some_signal(), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_signals_does_not_matter(signals: list[Signal], random: Random) -> None:
    shuffled = list(signals)
    random.shuffle(shuffled)
    found, again = cluster(signals), cluster(shuffled)
    ignored = ("detail",)
    assert [_without(p.to_dict(), ignored) for p in found] == [
        _without(p.to_dict(), ignored) for p in again
    ]
    assert [p.score for p in found] == sorted((p.score for p in found), reverse=True)
    for pattern in found:
        repos = pattern.repos or (None,)
        own = [
            s
            for s in signals
            if (s.type, s.locus) == (pattern.type, pattern.locus) and s.repo in repos
        ]
        assert pattern.signals == len(own)
        assert len(repos) == 1 or pattern.type == "recurring_error"
        assert pattern.sessions == len({s.session_uid for s in own})
        assert pattern.tokens == sum(s.tokens for s in own)
        assert pattern.cross_flavor == (len({s.flavor for s in own}) > 1)
        assert (pattern.basis == "measured") == all(s.basis == "measured" for s in own)


def _without(values: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in names}


def test_an_error_that_comes_back_is_told_once() -> None:
    def error_signal(kind: str, session: int = 1) -> Signal:
        return Signal(
            session_uid=f"claude:{session}",
            flavor="claude",
            repo=None,
            type=kind,
            polarity="problem",
            locus="abc",
            magnitude=3,
            detail="it broke",
        )

    back = [error_signal("recurring_error"), error_signal("recurring_error", 2)]
    assert [p.type for p in cluster([error_signal("repeated_error"), *back])] == ["recurring_error"]
    assert [p.type for p in cluster([error_signal("repeated_error")])] == ["repeated_error"]


def test_resolutions_are_counted_and_the_most_frequent_comes_first() -> None:
    def error(session: int, kind: str | None, text: str) -> ErrorRow:
        return ErrorRow(
            session_uid=f"claude:{session}",
            fingerprint="abc",
            tool="Bash",
            count=1,
            sample="it broke",
            event_uid="e:0",
            tokens=5,
            resolution=kind,
            resolved_by=text,
        )

    ways = [error(1, "look", "the same file"), error(2, "command", "make"), error(3, None, "")]
    ways.append(error(4, "command", "make"))
    signal = Signal(
        session_uid="claude:1",
        flavor="claude",
        repo=None,
        type="recurring_error",
        polarity="problem",
        locus="abc",
        magnitude=1,
        detail="it broke",
    )
    again = msgspec.structs.replace(signal, session_uid="claude:2")
    (found,) = cluster([signal, again], ways)
    assert [(fix.kind, fix.text, fix.sessions) for fix in found.resolutions] == [
        ("command", "make", 2),
        ("look", "the same file", 1),
    ]
    assert advice(found) == (
        "Write down how to avoid: `it broke`. What helped, quoted from a log: the command `make`."
    )


def test_what_comes_back_outranks_what_was_dear_once() -> None:
    assert score(sessions=10, tokens=50_000) > score(sessions=1, tokens=50_000_000)
    assert score(sessions=1, tokens=50_000) > score(sessions=1, tokens=500)


def test_every_type_has_a_title_and_advice() -> None:
    without = {name for name, detector in detectors().items() if detector.advice == "{detail}"}
    assert without == {"recovery", "clean_pass"}
    assert all(detector.title for detector in detectors().values())


@pytest.mark.usefixtures("everywhere")
def test_a_pattern_keeps_its_id_when_more_sessions_join(claude: ClaudeHome) -> None:
    plant(claude, sessions=25, seed=11)
    with collected(claude.write()) as store:
        analyze(store, now=NOW)
        before = {p.id: p for p in patterns(store)}
    plant(claude, sessions=25, seed=12)
    with collected(claude.write()) as store:
        analyze(store, now=NOW)
        after = {p.id: p for p in patterns(store)}
        narrow = patterns(store, until=0)
    # An error of one session becomes one that comes back when another has it, too.
    kept = {id for id, p in before.items() if p.type != "repeated_error"}
    assert kept <= set(after)
    assert all(after[id].sessions >= before[id].sessions for id in kept)
    assert all(p.id == pattern_id(p.type, p.locus, *p.repos) for p in after.values())
    assert all(title(p) for p in after.values())
    assert narrow == []


def error_in(repo: str | None, session: int) -> Signal:
    return Signal(
        session_uid=f"claude:{session}",
        flavor="claude",
        repo=repo,
        type="recurring_error",
        polarity="problem",
        locus="abc",
        magnitude=1,
        detail="it broke",
    )


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        # Two in each of two repositories: truly shared, one pattern.
        ({"app": (1, 2), "web": (3, 4)}, [(("app", "web"), 4)]),
        # One session elsewhere has it by chance.
        ({"app": (1, 2, 3), "web": (4,)}, [(("app",), 3)]),
        ({"app": (1,), "web": (2,)}, []),
    ],
)
def test_an_error_belongs_to_its_repository_unless_several_share_it(
    sessions: dict[str, tuple[int, ...]], expected: list[tuple[tuple[str, ...], int]]
) -> None:
    signals = [error_in(repo, number) for repo, numbers in sessions.items() for number in numbers]
    assert [(p.repos, p.sessions) for p in cluster(signals)] == expected


@pytest.mark.parametrize(
    ("kind", "sessions", "days", "ended_by", "rare"),
    [
        ("recurring_error", 3, 1, (), False),
        ("recurring_error", 2, 2, (), True),
        ("recurring_error", 2, 2, (("edit", 2),), True),
        ("recurring_error", 2, 2, (("instead", 1),), False),
        ("recurring_error", 2, 1, (("instead", 1),), True),
        ("recurring_error", 2, 1, (("instead", 1), ("command", 1)), False),
        ("recurring_instruction", 2, 2, (), False),
        ("retry_storm", 1, 1, (), True),
    ],
)
def test_what_does_not_come_back_is_rare(
    kind: str, sessions: int, days: int, ended_by: tuple[tuple[str, int], ...], rare: bool
) -> None:
    assert is_rare(kind, sessions, days, ended_by) is rare


def test_errors_of_the_same_calls_are_told_once() -> None:
    one = [error_in("app", number) for number in range(3)]
    other = [msgspec.structs.replace(signal, locus="abd") for signal in one]
    more = [msgspec.structs.replace(error_in("app", number), locus="abe") for number in range(4)]
    found = {p.locus: p.rare for p in cluster([*one, *other, *more])}
    assert sorted((found["abc"], found["abd"])) == [False, True] and not found["abe"]


@pytest.mark.parametrize(
    ("kind", "locus", "tools", "noise"),
    [
        ("recurring_error", "abc", ("Bash",), False),
        ("recurring_error", "abc", ("Edit",), True),
        ("recurring_error", "abc", ("Edit", "Bash"), False),
        ("recurring_error", "abc", ("mcp__db__query",), False),
        ("recurring_error", "abc", (None,), True),
        ("budget_overrun", "app", (), True),
        ("retry_storm", "Edit: <path>", (), True),
        ("retry_storm", "Bash: npm test", (), False),
        ("oversized_output", "Read", (), True),
        ("oversized_output", "shell: rg", (), True),
        ("oversized_output", "shell: for", (), True),
        ("oversized_output", "shell: Get-Content", (), True),
        ("oversized_output", "shell", (), True),
        ("oversized_output", "shell: make", (), False),
        ("permission_denied", "ExitPlanMode", (), True),
        ("thrown_away", "git", (), True),
        ("recurring_instruction", "commit", (), False),
    ],
)
def test_failures_of_the_agents_own_tools_are_noise(
    kind: str, locus: str, tools: tuple[str | None, ...], noise: bool
) -> None:
    assert is_noise(kind, locus, tools) is noise
