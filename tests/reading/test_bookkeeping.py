"""What a reader sees: no bookkeeping, commands as they were typed, questions with their options.

What is left out is still there: with a switch, as JSON, and for search.
"""

import json
from pathlib import Path

import pytest

from session_memory.derive.agents import about
from session_memory.store import Store
from session_memory.store.sessions import CollectedSession
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import collect, new_store
from session_memory.views.session_titles import NO_TITLE, best_title
from session_memory.views.sessions import Filter, list_sessions
from session_memory.views.timeline import timeline

from .hostile import collected

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

SNAPSHOT = "file-history-snapshot"
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "as the logo"},
        {"label": "Blue", "description": "as the sky"},
    ],
}
ANSWER = (
    'User has answered your questions: "Which colour?"="Blue". You can now continue with the'
    " user's answers in mind."
)


@pytest.fixture
def page(run, tmp_path: Path):
    """A store with one session, in which every third line is bookkeeping."""
    home = ClaudeHome(tmp_path / "home")
    log = home.session("5b0c6a1e", slug="app")
    log.note(SNAPSHOT, snapshot={"trackedFileBackups": {}})
    log.permission_mode("zebra")
    log.local_command("clear", "")
    log.slash_command("review", "the import")
    log.prompt("Paint it.<system-reminder>\nbe brief\n</system-reminder>")
    log.note("queue-operation", operation="dequeue", content="giraffe")
    log.answer(call("AskUserQuestion", "ask", questions=[QUESTION]))
    log.result(ANSWER)
    log.answer("Blue it is.")
    log.turn_ended()
    collected(home.write(), tmp_path / "memory.db")
    return run


NOISE = ("zebra", "dequeue", "giraffe", SNAPSHOT, "<command-", "turn ended", "system-reminder")


def written(page, kind: str, tmp_path: Path, *more: str) -> str:
    tmp_path.mkdir(exist_ok=True)
    target = tmp_path / f"page.{kind}"
    result = page("export", "--format", kind, "5b0c6a1e", "-o", str(target), *more)
    assert result.exit_code == 0, result.stderr
    return target.read_text("utf-8")


def test_show_leaves_bookkeeping_out_and_says_how_much(page) -> None:
    result = page("show", "5b0c6a1e")
    assert not [word for word in NOISE if word in result.stdout]
    assert "/clear" in result.stdout and "/review the import" in result.stdout
    assert "bookkeeping left out; --all shows them" in result.stderr


def test_all_shows_what_was_left_out_as_it_was_logged(page) -> None:
    result = page("show", "5b0c6a1e", "--all")
    assert not [word for word in ("zebra", "giraffe", SNAPSHOT) if word not in result.stdout]
    assert "<command-name>" in result.stdout
    assert "left out" not in result.stderr


def test_a_kind_that_is_asked_for_is_shown_though_it_is_bookkeeping(page) -> None:
    assert SNAPSHOT in page("show", "5b0c6a1e", "--kind", "lifecycle").stdout


def test_json_and_jsonl_have_every_event(page, tmp_path: Path) -> None:
    events = json.loads(page("show", "5b0c6a1e", "--json").stdout)["events"]
    lines = [json.loads(line) for line in written(page, "jsonl", tmp_path).splitlines()]
    exported = [line["event"] for line in lines if line["type"] == "event"]
    assert [event["seq"] for event in exported] == [event["seq"] for event in events]
    assert SNAPSHOT in {event["native_kind"] for event in exported}


def test_search_finds_bookkeeping_and_around_shows_it(page) -> None:
    (hit,) = json.loads(page("search", "zebra", "--json").stdout)["hits"]
    assert "zebra" in page("show", "5b0c6a1e", "--around", str(hit["seq"])).stdout


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_exports_leave_bookkeeping_out_too(page, kind: str, tmp_path: Path) -> None:
    text = written(page, kind, tmp_path)
    assert not [word for word in NOISE if word in text]
    assert "/review the import" in text
    everything = written(page, kind, tmp_path / "all", "--all")
    assert "zebra" in everything and SNAPSHOT in everything


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_a_question_is_exported_with_its_options_and_the_answer(
    page, kind: str, tmp_path: Path
) -> None:
    text = written(page, kind, tmp_path)
    for words in ("Which colour?", "Red", "as the logo", "as the sky", "Which colour? → Blue"):
        assert words in text


def test_show_has_a_question_with_its_options_and_the_answer(page) -> None:
    shown = page("show", "5b0c6a1e").stdout
    for words in ("Which colour?", "1. Red: as the logo", "2. Blue: as the sky"):
        assert words in shown
    assert "│ Which colour? → Blue" in shown


def test_the_header_says_that_nobody_analyzed_the_session(page) -> None:
    assert "outcome  not analyzed" in page("show", "5b0c6a1e").stdout
    assert page("analyze").exit_code == 0
    assert "not analyzed" not in page("show", "5b0c6a1e").stdout


# ---------------------------------------------------------------- names of sessions


def one_session(home: ClaudeHome) -> Store:
    store = new_store()
    collect(store, home.write())
    return store


def test_a_session_without_a_prompt_is_called_by_its_slash_command(database, tmp_path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    log.meta("<local-command-caveat>Caveat: do not answer.</local-command-caveat>")
    log.local_command("compact", "done")
    with one_session(home) as store:
        assert best_title(store, "claude:alpha") == "/compact"
        assert store.sessions.get("claude:alpha").title is None


def test_else_by_the_first_file_it_changed_else_by_its_first_words(database, tmp_path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    log.answer("I begin.", call("Edit", file_path="/home/mira/code/app/src/a.py", new_string="x"))
    other = home.session("beta")
    other.answer("Nothing to do.")
    with one_session(home) as store:
        assert best_title(store, "claude:alpha") == "changed src/a.py"
        assert best_title(store, "claude:beta") == "Nothing to do."
        listing = list_sessions(store, Filter())
        assert listing.titles == {
            "claude:alpha": "changed src/a.py",
            "claude:beta": "Nothing to do.",
        }


def test_a_subagent_with_a_nickname_is_called_by_its_task_too(database, tmp_path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    log.prompt("look at it")
    log.answer(call("Agent", "spawn", prompt="count the lines"))
    agent = home.subagent(log, "a1", meta={"toolUseId": "spawn", "description": "Halley"})
    agent.prompt("count the lines")
    agent.answer("three")
    with one_session(home) as store:
        assert best_title(store, "claude:alpha:a1") == "Halley: count the lines"
        moments = timeline(store, store.sessions.get("claude:alpha")).moments
        assert "Halley: count the lines" in [one.text for one in moments]


def test_a_plan_is_called_by_its_first_heading(database, tmp_path) -> None:
    home = ClaudeHome(tmp_path)
    texts = {
        "alpha": "Implement the following plan:\n\n# Plan: Add a tab\n\n## Context\nIt is long.",
        "beta": "Implement the following plan:\n\nadd a tab",
        "gamma": "# Fix C# and #4",
        "delta": "Implement the following plan:",
    }
    for name, text in texts.items():
        home.session(name).prompt(text)
    with one_session(home) as store:
        names = {name: best_title(store, f"claude:{name}") for name in texts}
        assert names == {
            "alpha": "Add a tab",
            "beta": "add a tab",
            "gamma": "Fix C# and #4",
            "delta": "Implement the following plan:",
        }


def test_a_session_of_which_nothing_is_known_has_no_title(database) -> None:
    with new_store() as store:
        store.sessions.save(CollectedSession(uid="claude:x", flavor="claude", native_id="x"))
        assert best_title(store, "claude:x") == NO_TITLE


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Chunk ID: 6e0d99\nWall time: 0.0000 seconds\nProcess exited with code 2\n"
            "Original token count: 9\nOutput:\nno such file\nOutput:\n",
            "no such file\nOutput:\n",
        ),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok", "ok"),
        ("Exit code: 1\nWall time: 3 seconds\nOutput:", ""),
        ("Wall time: much\nOutput:\nok", "Wall time: much\nOutput:\nok"),
        ("ok\nExit code: 0\nWall time: 1 seconds\nOutput:\n", None),
    ],
)
def test_an_output_of_codex_is_shown_without_its_preface(text: str, shown: str | None) -> None:
    assert about("codex").readable(text) == (text if shown is None else shown)
