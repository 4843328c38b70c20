"""Why skill calls failed: a run or a review says it, never the model's own words or the status."""

import json
from pathlib import Path

import pytest

from session_memory.core.schema import Attempt, Entry
from session_memory.core.time import parse_time
from session_memory.learn.digests import digest_of
from session_memory.learn.retro import Retro, retro
from session_memory.live.skill_log import SkillLog
from session_memory.store import Store
from session_memory.views.retro import to_html, to_markdown

from .sessions import analyzed

pytestmark = [pytest.mark.usefixtures("everywhere"), pytest.mark.only("sqlite")]
SINCE, UNTIL = parse_time("2026-07-01T00:00:00.000Z"), parse_time("2026-07-08T00:00:00.000Z")
RAN = "collected 3 items\nFAILED 1 test: expected 4 got 5\n1 failed in 0.2s"
REASON = "FAILED 1 test: expected 4 got 5"
MODELS_WORDS = "Solution 79: cannot fail, handle the empty case; error: none"


class Calls:
    """A skill log to fill, one call at a time."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = SkillLog(home / ".session-memory" / "skills")

    def add(self, status: str, *tries: Attempt, session: str = "one", message: str = "") -> None:
        fields = {"skill": "sum", "project_root": "/w/app", "message": message or None}
        when = "2026-07-02T10:00:00Z"
        self.log.append(Entry(session, when, attempts=tries, final_status=status, **fields))

    def analyzed(self):
        return analyzed(self.home)


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path)


def tried(model: str = "small", **more: object) -> Attempt:
    return Attempt.from_dict({"model": model, "output_summary": MODELS_WORDS, **more})


def retro_of(store: Store) -> Retro:
    return retro(store, since=SINCE, until=UNTIL)


def errors_of(store: Store, session: str = "one") -> list[tuple[str, int]]:
    digest = digest_of(store, f"skill:{session}")
    assert digest is not None
    return [(error.sample, error.count) for error in digest.error_snippets]


@pytest.mark.only("sqlite", "postgresql")
def test_a_retrospective_quotes_the_run_and_not_the_model(calls: Calls) -> None:
    # SWITCHING 1.44
    for number in range(3):
        for _ in range(2):
            calls.add("fail", tried(runner_output=RAN), session=f"s{number}")
    with calls.analyzed() as store:
        found = retro_of(store)
    (skill,) = found.skills
    assert [(failure.sample, failure.count) for failure in skill.failures] == [(REASON, 6)]
    (repo,) = found.repos
    assert f"Write down how to avoid: `{REASON}`" in [advice.text for advice in repo.suggestions]
    for page in (to_markdown(found), to_html(found), json.dumps(found.to_dict())):
        assert REASON in page and "Solution 79" not in page
        assert "avoid: `fail`" not in page


def test_feedback_is_the_reason_where_no_run_says_more(calls: Calls) -> None:  # SWITCHING 1.44
    calls.add("fail", tried(verdict="fail", feedback="The list is sorted in the wrong direction."))
    calls.add("error", tried(runner_output="1 failed", feedback="Two rows are missing."))
    calls.add("fail", tried(feedback="No test was written."))
    with calls.analyzed() as store:
        assert {sample for sample, _ in errors_of(store)} == {
            "The list is sorted in the wrong direction.",
            "Two rows are missing.",
            "No test was written.",
        }
        (skill,) = retro_of(store).skills
    assert (len(skill.failures), skill.unexplained) == (3, 0)


def test_a_failure_without_a_reason_is_counted_and_no_advice(calls: Calls) -> None:
    # SWITCHING 1.44
    for number in range(3):
        for _ in range(3):
            calls.add("fail", tried(), session=f"s{number}")
    with calls.analyzed() as store:
        found = retro_of(store)
        assert errors_of(store, "s0") == []
    (skill,) = found.skills
    assert (skill.failed, skill.failures, skill.unexplained) == (9, (), 9)
    assert "9 failed without a reason in the log" in to_markdown(found)
    texts = [advice.text for repo in found.repos for advice in repo.suggestions]
    assert not [text for text in texts if "avoid" in text]
    # The same call failed again and again, whatever the reason.
    assert {p.type for repo in found.repos for p in repo.problems} == {"retry_storm"}


def test_the_message_of_the_runner_is_a_reason_where_attempts_have_none(calls: Calls) -> None:
    calls.add("error", message="timed out after 30 s")
    calls.add("fail", tried(runner_output=RAN), message="gave up")
    with calls.analyzed() as store:
        assert sorted(errors_of(store)) == [(REASON, 1), ("timed out after 30 s", 1)]


def test_an_attempt_counts_once_and_the_model_that_helped_is_named(calls: Calls) -> None:
    calls.add(
        "pass", tried(runner_output=RAN), tried(runner_output=RAN), tried("big", verified=True)
    )
    calls.add("pass", tried("big", runner_output="TypeError: no"), tried("big", verified=True))
    with calls.analyzed() as store:
        digest = digest_of(store, "skill:one")
        (skill,) = retro_of(store).skills
    assert digest is not None
    found = {error.sample: (error.count, error.resolution) for error in digest.error_snippets}
    (times, how), (once, again) = found[REASON], found["TypeError: no"]
    assert (times, once) == (2, 1)
    assert how is not None and (how.kind, how.text) == ("instead", "model big")
    assert again is not None and again.kind == "again"
    tries = {model: (one.verified, one.tries) for model, one in skill.tries.items()}
    assert tries == {"big": (2, 3), "small": (0, 2)}
    assert (skill.models, skill.failures) == ({"big": 2}, ())


def test_a_run_that_confirmed_an_attempt_is_no_error(calls: Calls) -> None:
    calls.add("pass", tried(verified=True, runner_output="3 passed"))
    with calls.analyzed() as store:
        assert errors_of(store) == []
        (skill,) = retro_of(store).skills
    assert (skill.passed, skill.unexplained) == (1, 0)
