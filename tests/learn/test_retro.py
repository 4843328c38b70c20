"""Retrospectives: what was done, what it cost, what went wrong, what fixed it, what to do."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from session_memory.core.schema import Attempt, Entry
from session_memory.core.time import parse_time
from session_memory.learn.analyze import analyze
from session_memory.learn.retro import NOWHERE, Retro, retro, retro_of
from session_memory.live.skill_log import SkillLog
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.collecting import collected
from session_memory.views.retro import to_html, to_markdown

from .sessions import NOW, analyzed

pytestmark = pytest.mark.usefixtures("everywhere")
SINCE, UNTIL = parse_time("2026-07-01T00:00:00.000Z"), parse_time("2026-07-08T00:00:00.000Z")
HOSTILE = "<script>alert(1)</script> [x](http://e) `rm` \x1b[31m |"


def week(path: Path) -> ClaudeHome:
    home = ClaudeHome(path)
    for number in range(3):
        log = home.session(f"app-{number}")
        log.prompt(f"part {number} of the work")
        log.run("python app.py", "ModuleNotFoundError: No module named 'torch'", exit_code=1)
        log.run("pip install torch", "installed")
        log.run("python app.py", "fine")
        log.run("git commit -am done", "[main 1a2b3c4] done")
        log.answer("Done.", used=usage(1000, input=500))
    home.cwd = "/home/mira/code/web"
    log = home.session("web-0", slug="-home-mira-code-web")
    log.prompt(HOSTILE)
    for _ in range(4):
        log.run("make all", f"make: *** {HOSTILE}", exit_code=2)
    log.interrupt()
    home.write()
    return home


def retro_now(store: Store, **wanted: str) -> Retro:
    return retro(store, since=SINCE, until=UNTIL, **wanted)


@pytest.mark.only("sqlite")
def test_each_repository_is_told_with_its_suggestions(tmp_path: Path) -> None:
    with analyzed(week(tmp_path).path) as store:
        found = retro_now(store)
        only = retro_now(store, repo="web")
        later = retro(store, since=UNTIL, until=UNTIL + 1)
    app, web = sorted(found.repos, key=lambda repo: repo.repo)
    assert (app.repo, app.sessions, app.outcomes) == ("app", 3, {"success": 3})
    assert app.microdollars > 0 and app.tokens > 0
    assert [work.commits for work in app.done] == [1, 1, 1]
    assert {fix.text for fix in app.fixed} == {"pip install torch"}
    (advised,) = app.suggestions
    assert advised.is_lesson and "use `pip install torch`" in advised.text
    assert re.fullmatch(r"session-memory show claude:app-\d --around \S+", advised.look[0])
    assert app.commits == 3 and app.done[0].shipped == ("1a2b3c4 done",)
    assert (web.outcomes, web.fixed) == ({"abandoned": 1}, ())
    assert {p.type for p in web.problems} == {"retry_storm", "repeated_error"}
    assert len(web.suggestions) == len(web.problems)
    assert [repo.repo for repo in only.repos] == ["web"]
    assert later.repos == ()


def test_one_session_is_told_by_itself(tmp_path: Path) -> None:
    with analyzed(week(tmp_path).path) as store:
        found = retro_of(store, "claude:web-0")
        assert retro_of(store, "claude:nobody") is None
    assert found is not None
    assert [repo.sessions for repo in found.repos] == [1]
    assert found.since.startswith("2026-07-01")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"href", "src", "onclick"}


def test_transcripts_are_shown_escaped_in_every_form(tmp_path: Path) -> None:
    with analyzed(week(tmp_path).path) as store:
        found = retro_now(store)
    page, markdown = to_html(found), to_markdown(found)
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen and "alert(1)" in page
    assert "\x1b" not in page + markdown
    assert r"&lt;script\>" in markdown and r"\[x\](http" in markdown
    assert "use `pip install torch`. It helped in 3 sessions, and is quoted from a log" in markdown
    assert "session-memory lessons accept p-" in markdown
    for heading in ("What shipped: 3 commits", "What cost time and money"):
        assert heading in page and heading in markdown
    assert json.loads(json.dumps(found.to_dict()))["repos"][0]["repo"] in ("app", "web")


@pytest.mark.only("sqlite")
def test_secrets_are_masked_in_what_is_handed_on(claude: ClaudeHome) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = claude.session()
    log.prompt(f"push with {key}")
    log.answer("Pushed.")
    with analyzed(claude.write()) as store:
        found = retro_now(store)
    assert key not in to_markdown(found) + to_html(found)


@pytest.mark.only("sqlite")
def test_what_was_not_analyzed_is_not_in_it_and_said_so(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("work")
    log.answer("Done.")
    with collected(claude.write()) as store:
        found = retro(store, since=SINCE, until=UNTIL, unread=1)
        assert found.repos == ()
        assert "session-memory analyze" in to_markdown(found)
        analyze(store, now=NOW)
        assert retro_now(store).repos[0].sessions == 1


def test_sessions_without_a_repository_are_told_together(claude: ClaudeHome) -> None:
    log = claude.session()
    log.cwd = ""
    log.prompt("work")
    log.answer("Done.")
    with analyzed(claude.write()) as store:
        assert [repo.repo for repo in retro_now(store).repos] == [NOWHERE]


def test_skills_are_looked_back_at_by_their_attempts(tmp_path: Path) -> None:
    log = SkillLog(tmp_path / ".session-memory" / "skills")
    bad = Attempt(attempt=1, model="small", output_summary="no", runner_output="1 failed")
    good = Attempt(attempt=2, model="big", output_summary="yes", verified=True)
    for tries, status in (((good,), "pass"), ((bad, good), "ok"), ((bad, bad), "fail")):
        entry = Entry(
            "one",
            timestamp="2026-07-02T10:00:00Z",
            skill="review",
            project_root="/w/app",
            attempts=tries,
            final_status=status,
        )
        log.append(entry)
    with analyzed(tmp_path) as store:
        (skill,) = retro_now(store).skills
        one = retro_of(store, "skill:one")
    assert (skill.calls, skill.passed, skill.failed) == (3, 2, 1)
    assert (skill.first_try, skill.recovered, skill.attempts) == (1, 1, 5)
    assert skill.models == {"big": 2}
    assert skill.failures[0].sample == "1 failed"
    assert one is not None and one.skills == (skill,)
    assert "review: 3 calls, 67% passed" in to_markdown(one)


@pytest.mark.only("sqlite")
def test_what_people_ask_for_again_and_again_is_ranked_beside_what_cost_money(
    claude: ClaudeHome,
) -> None:
    for number in range(4):
        claude.clock.tick(86_400_000)
        log = claude.session(f"app-{number}")
        log.prompt(f"part {number} of the work")
        log.run("python app.py", "ModuleNotFoundError: No module named 'torch'", exit_code=1)
        log.run("pip install torch", "installed")
        log.run("python app.py", "fine")
        log.prompt("update changelog")
        log.answer("Done.", used=usage(1000, input=500))
    with analyzed(claude.write()) as store:
        (repo,) = retro(store, since=SINCE, until=parse_time("2027-01-01T00:00:00Z")).repos
    types = [problem.type for problem in repo.problems]
    assert types[:2] == ["recurring_instruction", "recurring_error"]
