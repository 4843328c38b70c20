"""What a person typed stands as it was typed, and a place in a session can be opened."""

import json
from pathlib import Path

import pytest

from session_memory.testing.claude import ClaudeHome, call, text

from .hostile import collected

TYPED = "# comment one\nrun `make`, **now**\n* star\n- dash\n## end ##\n1. one"
ANSWER = "# Plan\n\n* **first**: `code`\n"


@pytest.fixture
def typed(run, tmp_path: Path):
    home = ClaudeHome(tmp_path / "home", cwd="/w")
    log = home.session("typed000")
    log.prompt(TYPED)
    log.answer(text(ANSWER))
    for number in range(40):
        log.answer(call("Bash", command=f"echo {number}"))
        log.result(f"{number}")
    home.write()
    collected(home.path, tmp_path / "memory.db")
    return run


def test_show_drops_no_character_of_a_prompt_or_an_answer(typed) -> None:
    lines = typed("show", "typed000").stdout.splitlines()
    for line in TYPED.splitlines():
        assert f"{' ' * 17}▌ {line}" in lines
    for line in filter(None, ANSWER.splitlines()):
        assert f"{' ' * 19}{line}" in lines


def test_a_style_only_adds_colour(typed) -> None:
    styled = typed("show", "typed000", color=True).stdout
    assert "\x1b[1m# comment one\x1b[0m" in styled
    assert "\x1b[36m`make`\x1b[0m" in styled and "\x1b[1m**now**\x1b[0m" in styled


def test_exports_keep_what_was_typed(typed) -> None:
    markdown = typed("export", "--format", "markdown", "typed000").stdout
    assert "\\# comment one\nrun `make`, **now**\n* star" in markdown
    assert "\\## end ##" in markdown and "\\# Plan" in markdown
    page = typed("export", "--format", "html", "typed000").stdout
    assert f'<div class="text typed">{TYPED}</div>' in page


# ---------------------------------------------------------------- a place


def seqs(result) -> list[int]:
    return [event["seq"] for event in json.loads(result.stdout)["events"]]


def test_show_opens_around_a_place(typed) -> None:
    result = typed("show", "typed000", "--around", "30")
    lines = [line for line in result.stdout.splitlines() if line[:5].strip(" >").isdigit()]
    places = [int(line[:5].strip(" >")) for line in lines]
    assert places == list(range(20, 41))
    (marked,) = [line for line in lines if line.startswith("  >30")]
    assert "Bash $ echo 14" in marked
    assert "Events 20 to 40; all of them: session-memory show typed000" in result.stderr
    assert seqs(typed("show", "typed000", "--around", "30", "--json")) == places


def test_show_begins_at_a_place(typed) -> None:
    text = typed("show", "typed000", "--from", "78").stdout
    assert "echo 38" in text and "echo 37" not in text and "▌ # comment" not in text
    assert "turn 1" in text
    assert seqs(typed("show", "typed000", "--from", "78", "--json")) == list(range(78, 82))


def test_show_from_behind_the_end_shows_nothing(run, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd="/w")
    log = home.session("has0kids")
    log.prompt("one")
    log.answer(text("done"))
    kid = home.subagent(log, "a5")
    kid.prompt("look around")
    kid.answer(text("I looked around"))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    assert "I looked around" in run("show", "has0kids", "--from", "1").stdout
    behind = run("show", "has0kids", "--from", "99")
    assert "I looked around" not in behind.stdout
    assert "No event from 99 on" in behind.stderr


def test_a_place_behind_the_end_is_said(typed) -> None:
    result = typed("show", "typed000", "--around", "1000")
    assert result.exit_code == 1
    assert "has no event 1,000; its last one is 81" in result.stderr
    assert typed("show", "typed000", "--around", "1", "--from", "1").exit_code == 2
