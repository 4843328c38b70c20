"""Skill calls of evicted sessions still count: from their logs, else from the archive."""

from pathlib import Path

import pytest
from keeping import LATER, Keeper, analyzed

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config, RetentionConfig, SourceConfig
from session_memory.learn.analyze import analyze
from session_memory.learn.retro import retro
from session_memory.live.skill_log import SkillLog
from session_memory.live.skill_rates import pass_rate, route
from session_memory.retain.retention_run import retain
from session_memory.store import Store
from session_memory.views.skills import list_skills

pytestmark = pytest.mark.only("sqlite")


def call(number: int, status: str) -> dict[str, object]:
    tried = {"attempt": 1, "model": "small", "verified": status == "pass", "runner_output": "E 1"}
    return {
        "session_id": "nightly",
        "timestamp": f"2026-07-01T10:0{number}:00Z",
        "skill": "sum",
        "attempts": [tried],
        "final_status": status,
    }


@pytest.fixture
def opened(keeper: Keeper) -> Store:
    return keeper.store


@pytest.fixture
def log(opened: Store, tmp_path: Path) -> SkillLog:
    """A log of six calls that was collected, analyzed and evicted."""
    log = SkillLog(tmp_path / "skills")
    for number in range(6):
        log.append(call(number, "fail" if number == 5 else "pass"))
    config = Config(
        sources={"skill": SourceConfig(roots=[str(tmp_path / "skills")])},
        retention=RetentionConfig(archive_dir=str(tmp_path / "archive")),
    )
    sync(opened, config, roots(config, only=("skill",)))
    analyze(opened)
    opened.archive_dir = lambda: config.retention.archive_dir
    done = retain(opened, config, LATER, lambda uids: analyzed(opened, *uids))
    assert [one.sessions for one in done.gone] == [("skill:nightly",)]
    return log


def test_rates_and_advice_are_those_of_before(opened: Store, log: SkillLog) -> None:
    rate = pass_rate(opened, "sum", logs=[log])
    assert (rate.passed, rate.failed, rate.attempts) == (5, 1, 6)
    assert route(opened, "sum", logs=[log]) == "sample"
    log.append(call(6, "pass"))
    assert pass_rate(opened, "sum", logs=[log]).passed == 6
    assert list_skills(opened, logs=[log]).evicted == 0


def test_without_the_log_the_answer_says_what_is_missing(opened: Store, log: SkillLog) -> None:
    (log.directory / "nightly.jsonl").unlink()
    listing = list_skills(opened, logs=[log])
    assert (listing.skills, listing.evicted) == ([], 1)
    assert listing.to_dict() == {"skills": [], "evicted": 1}


def test_a_retrospective_reads_the_archive(opened: Store, log: SkillLog, tmp_path: Path) -> None:
    found = retro(opened, since=0, until=LATER)
    assert [(one.skill, one.calls, one.failed) for one in found.skills] == [("sum", 6, 1)]
    assert "evicted" not in found.to_dict()
    for file in (tmp_path / "archive").glob("*.tar"):
        file.unlink()
    opened.read_from_archive.clear()
    found = retro(opened, since=0, until=LATER)
    assert (found.skills, found.to_dict()["evicted"]) == ((), 1)
