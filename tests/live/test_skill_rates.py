"""Pass rates and advice, over a store that collected skill logs, on both databases."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.errors import InvalidTime
from session_memory.core.schema import Attempt, Entry
from session_memory.core.skills import verdict_of
from session_memory.core.time import parse_time
from session_memory.live.skill_log import SkillLog
from session_memory.live.skill_rates import _COUNT, PassRate, pass_rate, pass_rates, route
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import check_sound, collect, contents, new_store, rebuilt
from session_memory.views.skills import list_skills

pytestmark = pytest.mark.usefixtures("on_the_database")

NOW = parse_time("2026-07-31T12:00:00Z")


@pytest.fixture
def log(tmp_path: Path) -> SkillLog:
    return SkillLog(tmp_path / "home" / ".session-memory" / "skills")


@pytest.fixture
def store(stores):
    with new_store() as made:
        yield made


def call(
    log: SkillLog,
    status: str,
    *,
    skill: str = "review",
    at: str = "2026-07-31T11:00:00Z",
    session: str = "s1",
    model: str | None = None,
    attempts: tuple[Attempt, ...] = (),
) -> None:
    fields = {"final_status": status, "model_used": model, "attempts": attempts}
    log.append(Entry(session, at, skill=skill, **fields))


def synced(store: Store, log: SkillLog) -> Store:
    collect(store, log.directory)
    return store


@pytest.mark.only("sqlite")
def test_a_rate_is_the_share_of_calls_that_came_to_a_verdict(store: Store, log: SkillLog) -> None:
    for status in ("pass", "ok", "OK", "fail", "error", "skip", "skipped", "later", ""):
        call(log, status)
    rate = pass_rate(synced(store, log), "review")
    assert (rate.passed, rate.failed, rate.skipped, rate.other) == (3, 2, 2, 2)
    assert rate.total == 9
    assert rate.pass_rate == 3 / 5
    result = rate.to_dict()
    assert {"skill": "review", "window": "all", "pass": 3, "fail": 2, "skip": 2}.items() <= (
        result.items()
    )
    assert (result["total"], result["pass_rate"]) == (9, 0.6)


def test_a_skill_nobody_called_has_no_rate_and_no_advice_but_to_try(store: Store) -> None:
    rate = pass_rate(store, "nothing", "7d")
    assert (rate.total, rate.pass_rate, rate.to_dict()["pass_rate"]) == (0, None, None)
    assert route(store, "nothing") == "sample"


@pytest.mark.only("sqlite")
def test_a_window_counts_the_calls_within_it(store: Store, log: SkillLog) -> None:
    call(log, "pass", at="2026-07-31T11:59:00.123456789+00:00")
    call(log, "fail", at="2026-07-31T02:00:00+02:00")
    call(log, "fail", at="2026-07-25T12:00:00Z")
    call(log, "pass", at="1969-01-01T00:00:00Z")
    synced(store, log)
    totals = {
        window: pass_rate(store, "review", window, now=NOW).total
        for window in ("2min", "13h", "1d", "1w", "7d", "all")
    }
    assert totals == {"2min": 1, "13h": 2, "1d": 2, "1w": 3, "7d": 3, "all": 4}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("window", ["", "7", "d", "-7d", "7 years", "9999999d", "all; drop"])
def test_a_window_that_is_none_is_refused_with_a_hint(store: Store, window: str) -> None:
    with pytest.raises(InvalidTime, match="invalid window") as refused:
        pass_rate(store, "review", window)
    assert refused.value.hint


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("passed", "failed", "advice"),
    [
        (9, 1, "fast"),
        (90, 10, "fast"),
        (899, 101, "sample"),
        (7, 3, "sample"),
        (699, 301, "thinking"),
        (0, 5, "thinking"),
        (5, 0, "fast"),
        (0, 4, "sample"),
        (4, 0, "sample"),
        (0, 0, "sample"),
    ],
)
def test_the_advice_follows_the_rate(passed: int, failed: int, advice: str, database: str) -> None:
    assert PassRate(skill="x", passed=passed, failed=failed).advice == advice


def test_models_are_counted_apart_and_together(store: Store, log: SkillLog) -> None:
    tries = (Attempt(model="small"), Attempt(model="big", verified=True))
    call(log, "pass", attempts=tries)
    call(log, "fail", model="small", session="s2")
    call(log, "pass", model="small", skill="lint", session="s2")
    synced(store, log)
    assert pass_rate(store, "review").pass_rate == 0.5
    assert pass_rate(store, "review", model="big").pass_rate == 1.0
    assert pass_rate(store, "review", model="small").pass_rate == 0.0
    fields = {(rate.skill, rate.model): rate for rate in pass_rates(store)}
    assert set(fields) == {("lint", "small"), ("review", "big"), ("review", "small")}
    assert (fields["review", "small"].attempts, fields["review", "small"].verified) == (1, 0)
    assert (fields["review", "big"].attempts, fields["review", "big"].verified) == (1, 1)


@pytest.mark.only("sqlite")
def test_no_index_every_question_read_every_file(store: Store, log: SkillLog) -> None:
    for number in range(20):
        call(log, "pass", session=f"s{number}")
    synced(store, log)
    shutil.rmtree(log.directory)
    assert pass_rate(store, "review").total == 20
    assert route(store, "review") == "fast"


@pytest.mark.only("sqlite")
def test_a_question_looks_at_skill_sessions_alone(
    store: Store, log: SkillLog, database: str
) -> None:
    call(log, "pass")
    synced(store, log)
    params = {"flavor": "skill", "attempt": "a", "result": "r", "always": 0, "since": 0}
    plan = [row[3] for row in store.db.all(f"explain query plan {_COUNT}", params)]
    assert "SEARCH e USING INDEX events_in_order (session_id=?)" in plan


def test_events_of_other_agents_are_no_skill_calls(
    store: Store, log: SkillLog, claude: ClaudeHome
) -> None:
    call(log, "pass")
    chat = claude.session()
    chat.prompt("review it")
    chat.run("result/pass", "attempt")
    collect(store, claude.write())
    synced(store, log)
    assert [rate.skill for rate in pass_rates(store)] == ["review"]


@pytest.mark.only("sqlite")
def test_names_are_asked_for_as_they_were_written(store: Store, log: SkillLog) -> None:
    names = ["with  two blanks", "s" * 500, "nul\0and\ud800", "ünï", "a\nb", ""]
    for name in names:
        call(log, "fail", skill=name)
    synced(store, log)
    assert [pass_rate(store, name).failed for name in names] == [1] * len(names)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("word", "verdict"),
    [("pass", "pass"), (" Ok ", "pass"), ("FAIL", "fail"), ("error", "fail")]
    + [("skip", "skip"), ("skipped", "skip"), ("passed?", "other"), ("token", "other")],
)
def test_a_status_is_normalized_only_by_a_question(word: str, verdict: str, database: str) -> None:
    assert verdict_of(word) == verdict


# ---------------------------------------------------------------- collecting them


@pytest.mark.only("sqlite")
def test_a_torn_entry_is_a_problem_and_costs_itself_alone(store: Store, log: SkillLog) -> None:
    call(log, "pass")
    with log.path_of("s1").open("ab") as file:
        file.write(b'{"session_id":"s1","torn')
    assert synced(store, log).problems.count() == 0, "it may still be written"
    call(log, "fail")
    synced(store, log)
    assert [problem.reason for problem in store.problems.every()] == ["malformed line"]
    assert (pass_rate(store, "review").passed, pass_rate(store, "review").failed) == (1, 1)
    check_sound(store)


def test_collecting_after_every_entry_gives_what_one_look_gives(
    store: Store, log: SkillLog
) -> None:
    for number in range(6):
        call(log, "fail" if number % 2 else "pass", at=f"2026-07-01T10:00:0{number}Z")
        synced(store, log)
    with new_store() as once:
        synced(once, log)
        assert contents(once) == contents(store)
        assert contents(rebuilt(once)) == contents(store)
    check_sound(store)
    assert synced(store, log).events.count() == 12


@pytest.mark.only("sqlite")
def test_a_copied_directory_counts_nothing_twice(
    store: Store, log: SkillLog, tmp_path: Path
) -> None:
    call(log, "pass")
    synced(store, log)
    shutil.copytree(log.directory, tmp_path / "backup")
    collect(store, tmp_path / "backup")
    assert pass_rate(store, "review").total == 1
    check_sound(store)


@pytest.mark.only("sqlite")
def test_the_same_call_again_after_a_failure_is_a_retry(store: Store, log: SkillLog) -> None:
    call(log, "fail")
    call(log, "pass")
    synced(store, log)
    row = store.sessions.row("skill:s1")
    assert row is not None and row.retries == 1
    kinds = [event.kind for event in store.events.of(row.id, "skill:s1")]
    assert kinds == ["tool_call", "error", "retry", "tool_result"]


def test_a_session_of_skills_has_a_place_a_model_and_a_title(store: Store, log: SkillLog) -> None:
    log.append(
        Entry("s1", "2026-07-01T10:00:00Z", skill="plan", project_root="/w/app", model_used="big")
    )
    call(log, "pass", at="2026-07-01T10:00:09Z")
    session = synced(store, log).sessions.get("skill:s1")
    assert session is not None
    items = (session.title, session.repo, session.cwd, session.model)
    assert items == ("plan", "app", "/w/app", "big")
    assert session.started_at == "2026-07-01T10:00:00.000Z"
    assert session.cost.turns == 0 and session.cost.output_tokens == 0


# ---------------------------------------------------------------- the view


def test_the_view_shows_each_skill_in_each_window_with_its_models(
    store: Store, log: SkillLog
) -> None:
    call(log, "pass", model="big")
    call(log, "fail", model="small", at="2026-01-01T00:00:00Z")
    call(log, "skip", skill="lint")
    synced(store, log)
    rows = list_skills(store, windows=("all", "7d"), now=NOW).skills
    items = [(row.rate.skill, row.rate.window, row.rate.total, len(row.models)) for row in rows]
    assert items == [
        ("lint", "all", 1, 1),
        ("lint", "7d", 1, 1),
        ("review", "all", 2, 2),
        ("review", "7d", 1, 1),
    ]
    (only,) = list_skills(store, skill="REV*", model="SMA").to_dict()["skills"]
    assert (only["skill"], only["total"], only["advice"]) == ("review", 1, "sample")
    assert (only["model"], only["evidence"]) == ("small", 1)
    assert [model["model"] for model in only["models"]] == ["small"]


@pytest.mark.only("sqlite")
def test_lines_that_are_equal_to_the_letter_are_calls_of_their_own(
    store: Store, log: SkillLog
) -> None:
    for _ in range(3):
        call(log, "pass")
    assert pass_rate(synced(store, log), "review").total == 3
    check_sound(store)


# ---------------------------------------------------------------- the page

PAGE = Path(__file__).parents[2] / "docs" / "skills.md"


@pytest.mark.only("sqlite")
def test_the_python_on_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.S)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for number, code in enumerate(blocks):
        exec(compile(code, f"skills.md block {number}", "exec"), names)
    assert (tmp_path / ".session-memory" / "skills" / "nightly-7.jsonl").exists()
    assert names["rate"].total == 0, "nothing was collected yet"


@pytest.mark.only("sqlite")
def test_the_page_names_every_field_of_an_entry_and_of_an_attempt(database: str) -> None:
    text = PAGE.read_text("utf-8")
    for record in (Entry("s", "2026-07-01T10:00:00Z"), Attempt()):
        for name in vars(record).keys() - {"_extra"}:
            assert f"`{name}`" in text, name
