"""``analyze``, ``digest``, ``patterns`` and ``retro`` as somebody meets them."""

import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.planted import plant

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

Run = Callable[..., Result]
DAYS = str((datetime.now(UTC) - datetime(2026, 1, 1, tzinfo=UTC)).days + 1)


@pytest.fixture
def planted(home: Path, run: Run) -> Path:
    """A home with sessions in which things stand out, collected and not analyzed."""
    claude = ClaudeHome(home)
    plant(claude, sessions=30, seed=5)
    claude.write()
    assert run("sync", "--quiet").exit_code == 0
    return home


def printed(run: Run, *words: str) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_only_what_changed_is_analyzed(run: Run, planted: Path) -> None:
    first = printed(run, "analyze")
    assert (first["analyzed"], first["unchanged"]) == (30, 0)
    assert sum(first["outcomes"].values()) == 30
    assert printed(run, "analyze")["analyzed"] == 0
    again = run("analyze")
    assert again.stdout == "Nothing to analyze; 30 sessions known.\n"
    named = run("analyze", "planted-5-00001")
    assert "Analyzed 1 session" in named.stdout


def test_sync_analyzes_when_it_is_asked_to(run: Run, home: Path) -> None:
    claude = ClaudeHome(home)
    log = claude.session()
    log.prompt("test it")
    log.run("pytest -q", "1 passed in 0.10s")
    log.answer("It passes.")
    claude.write()
    report = printed(run, "sync", "--analyze")
    assert report["analysis"]["outcomes"] == {"success": 1}
    listed = printed(run, "sessions")["sessions"]
    assert [session["outcome"] for session in listed] == ["success"]
    assert "analysis" not in printed(run, "sync")
    assert "Nothing to analyze" in run("sync", "--analyze").stdout


def test_a_digest_is_shown_before_and_after_it_is_stored(run: Run, demo: object) -> None:
    uid = printed(run, "sessions", "--limit", "1")["sessions"][0]["session_uid"]
    before = printed(run, "digest", uid)
    assert before["is_stored"] is False
    assert "Not stored yet" in run("digest", uid).stderr
    run("analyze")
    after = printed(run, "digest", uid)
    assert after["is_stored"] is True
    assert after["digest"] == before["digest"]
    page = run("digest", uid).stdout
    assert page.startswith(f"A page per harbour\n  session   {uid}\n")
    for word in ("outcome", "cost", "time", "context", "asked"):
        assert f"  {word} " in page
    (proof,) = re.findall(r"outcome .* \(events? (\d+)", page)
    event = printed(run, "show", uid, "--around", proof)["events"]
    assert after["digest"]["outcome"]["evidence"][0] in {one["event_uid"] for one in event}


def test_paths_in_a_digest_are_relative_to_the_repository(run: Run, home: Path) -> None:
    claude = ClaudeHome(home)
    log = claude.session()
    check = f"cd {log.cwd} && pytest -q tests/test_tide.py"
    log.prompt("test it")
    log.run(check, f"{log.cwd}/tide.py:3: NameError: name 'sea' is not defined", exit_code=1)
    log.edit(f"{log.cwd}/tide.py")
    log.run(check, "3 passed in 0.10s")
    log.answer("It passes.")
    claude.write()
    assert run("sync", "--analyze", "--quiet").exit_code == 0
    page = run("digest", log.uid).stdout
    assert "an edit of `tide.py`" in page
    assert "  passed: cd app && pytest -q tests/test_tide.py · 3 passed\n" in page
    assert log.cwd not in page


def test_a_digest_says_why_a_person_refused_a_call_and_not_what_the_agent_adds(
    run: Run, home: Path
) -> None:
    claude = ClaudeHome(home)
    log = claude.session()
    log.prompt("push it")
    for reason in ("wait for the review first", None):
        log.answer(call("Bash", command="git push --force"))
        log.reject(reason)
    claude.write()
    assert run("sync", "--analyze", "--quiet").exit_code == 0
    page = run("digest", log.uid).stdout
    refused = "  refused a call: wait for the review first\n  refused a call\n"
    assert f"A person stepped in\n{refused}" in page


def test_patterns_are_ranked_listed_and_shown(run: Run, planted: Path) -> None:
    empty = run("patterns")
    assert empty.stdout == "" and "session-memory analyze" in empty.stderr
    run("analyze")
    listing = printed(run, "patterns", "--limit", "0")
    assert listing["total"] == len(listing["patterns"]) > 5
    assert (listing["sessions"], listing["unread"]) == (30, 0)
    problems = [p for p in listing["patterns"] if p["polarity"] == "problem"]
    assert [p["score"] for p in problems] == sorted((p["score"] for p in problems), reverse=True)
    assert all(p["basis"] in ("measured", "estimated") for p in listing["patterns"])
    worst = problems[0]
    assert printed(run, "patterns", worst["id"])["pattern"] == worst
    page = run("patterns", worst["id"][:8]).stdout
    assert worst["title"] in page
    shown = re.findall(r"session-memory show (\S+) --around (\S+)", page)
    assert shown and all(
        run("show", name, "--around", event).exit_code == 0 for name, event in shown
    )
    for pattern in (next(p for p in problems if bool(p["tokens"]) is has) for has in (True, False)):
        assert ("  cost  " in run("patterns", pattern["id"]).stdout) is (pattern["tokens"] > 0)
    assert run("patterns", worst["id"], "--repo", "webshop").exit_code == 2
    assert "No pattern matches, of 30 analyzed" in run("patterns", "--since", "1d").stderr
    assert run("patterns", "--limit", "3").stdout.count("\n") == 4
    good = printed(run, "patterns", "--polarity", "success", "--type", "recovery")["patterns"]
    assert {p["type"] for p in good} == {"recovery"}


def test_a_pattern_nobody_knows_is_an_error_with_a_hint(run: Run, demo: object) -> None:
    result = run("patterns", "p-nothing", "--json")
    assert result.exit_code == 1
    error = json.loads(result.stderr)["error"]
    assert error["kind"] == "unknown_pattern"
    assert "session-memory patterns" in error["hint"]


def test_a_retrospective_is_written_in_three_forms(run: Run, planted: Path) -> None:
    run("analyze")
    found = printed(run, "retro", "--days", DAYS)
    (repo,) = found["repos"]
    assert (repo["repo"], repo["sessions"]) == ("app", 30)
    assert 1 <= len(repo["suggestions"]) == len(repo["problems"]) <= 7
    again = printed(run, "retro", "--days", DAYS, "--format", "json")
    assert again["repos"] == found["repos"]
    markdown = run("retro", "--days", DAYS, "--repo", "app").stdout
    assert markdown.startswith("# Retrospective") and "### What cost time and money" in markdown
    assert "session-memory show claude:planted" in markdown
    page = run("retro", "--days", DAYS, "--format", "html").stdout
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    nothing = run("retro")
    assert "No session was analyzed" in nothing.stdout
    assert "The newest session ended on 2026-" in nothing.stderr
    unknown = run("retro", "--repo", "nowhere").stderr
    assert "No session is of nowhere." in unknown and "stats repos" in unknown


def test_a_retrospective_for_a_terminal_has_tables_and_no_markdown(run: Run, planted: Path) -> None:
    run("analyze")
    text = run("retro", "--days", DAYS, "--format", "text").stdout
    lines = text.splitlines()
    assert lines[0].startswith("Retrospective 20")
    assert "app" in lines and "What cost time and money" in lines
    assert lines[lines.index("What was done") + 1].split()[0] == "session"
    assert not [line for line in lines if line.startswith(("#", "- "))]
    assert "`session-memory" not in text and "\\" not in text
    assert max(map(len, lines)) <= 100


def test_a_retrospective_of_one_session_asks_for_its_analysis(run: Run, planted: Path) -> None:
    refused = run("retro", "planted-5-00001")
    assert refused.exit_code == 1
    assert "session-memory analyze claude:planted-5-00001" in refused.stderr
    run("analyze")
    assert "## app" in run("retro", "planted-5-00001").stdout


def test_hostile_text_reaches_no_terminal(run: Run, home: Path) -> None:
    claude = ClaudeHome(home)
    log = claude.session()
    log.prompt("\x1b]0;owned\x07 work")
    for _ in range(3):
        log.run("make \x1b[31m", "make: *** \x1b[2J\u202e gone", exit_code=2)
    claude.write()
    run("sync", "--analyze", "--quiet")
    for words in (
        ("digest", "alpha"),
        ("patterns",),
        ("retro", "--days", DAYS),
        ("retro", "alpha"),
        ("retro", "alpha", "--format", "text"),
        ("fix", "make: *** gone"),
        ("how", "work"),
    ):
        shown = run(*words, color=True).stdout
        assert shown
        assert not [sign for sign in ("\x1b]", "\x07", "\x1b[2J", "\u202e") if sign in shown]


def test_a_watch_analyzes_what_it_collected(start: Any, run: Run, home: Path) -> None:
    claude = ClaudeHome(home)
    log = claude.session()
    log.prompt("test it")
    log.run("pytest -q", "1 passed in 0.10s")
    log.answer("It passes.")
    claude.write()
    watch = start("watch", "--analyze", "--json", stdout=subprocess.PIPE)
    assert watch.stdout is not None
    for line in watch.stdout:
        if json.loads(line)["event"] == "synced":
            break
    watch.terminate()
    # At the latest when it is stopped: what it collected is analyzed.
    watch.communicate()
    assert watch.returncode == 0
    assert printed(run, "analyze") == {**printed(run, "analyze"), "analyzed": 0, "unchanged": 1}
