"""What a session is called: the name a person gave, else the agent's, else what was asked."""

import pytest

from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.collecting import collect, collected
from session_memory.views.session_titles import best_title


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    log = claude.session()
    log.meta("Caveat: not this")
    log.prompt("please make the tests pass")
    return log


def title(claude: ClaudeHome, uid: str = "claude:alpha") -> str | None:
    with collected(claude.write()) as store:
        session = store.sessions.get(uid)
        assert session is not None
        return session.title


def test_without_a_title_it_is_the_first_thing_that_was_asked(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.prompt("and the docs")
    assert title(claude) == "please make the tests pass"


def test_each_title_gives_way_to_a_better_one(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.summary("a summary")
    assert title(claude) == "a summary"
    log.agent_name("an agent's name")
    assert title(claude) == "an agent's name"
    log.ai_title("a guess")
    assert title(claude) == "a guess"
    log.custom_title("a person's choice")
    assert title(claude) == "a person's choice"
    log.ai_title("a later guess")
    log.agent_name("a later name")
    log.summary("a later summary")
    assert title(claude) == "a person's choice"


def test_the_last_title_of_a_kind_wins(claude: ClaudeHome, log: ClaudeLog) -> None:
    for name in ("first", "second"):
        log.custom_title(name)
    assert title(claude) == "second"


def test_a_summary_counts_only_for_the_session_that_holds_its_leaf(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.summary("of another session", leaf="00000000-0000-4000-8000-00000000dead")
    assert title(claude) == "please make the tests pass"


def test_a_summary_of_another_session_may_stand_before_everything(claude: ClaudeHome) -> None:
    log = claude.session()
    log.summary("of another session", leaf="00000000-0000-4000-8000-00000000dead")
    log.prompt("please make the tests pass")
    log.answer("done")
    assert title(claude) == "please make the tests pass"


def test_a_summary_may_stand_before_its_leaf(claude: ClaudeHome) -> None:
    log = claude.session()
    leaf = "00000000-0000-4000-8000-00000000beef"
    log.summary("what it came to", leaf=leaf)
    log.prompt("please make the tests pass")
    log.line("assistant", uuid=leaf, message={"content": "done", "model": "opus"})
    assert title(claude) == "what it came to"


def test_a_summary_is_found_over_the_borders_of_reading(claude: ClaudeHome, log: ClaudeLog) -> None:
    leaf = log.answer("done")[0]
    with collected(claude.write()) as store:
        log.summary("what it came to", leaf=leaf)
        collect(store, claude.write())
        assert store.sessions.every()[0].title == "what it came to"


def test_a_subagent_is_called_by_its_description(claude: ClaudeHome, log: ClaudeLog) -> None:
    agent = claude.subagent(log, "a1", meta={"description": "Count the lines"})
    agent.prompt("You are to count all lines of all files.")
    agent.answer("3")
    assert title(claude, "claude:alpha:a1") == "Count the lines"


def test_a_long_title_is_cut_to_one_line(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("one\n\ttwo  three " + "x" * 200)
    found = title(claude)
    assert found is not None
    assert found.startswith("one two three xxx") and found.endswith("…") and len(found) == 80


@pytest.mark.parametrize(
    "notice",
    [
        "You've hit your limit · resets 3pm (Europe/Paris)",
        "Claude AI usage limit reached|1753900000",
        "API Error: 529 overloaded",
        "Credit balance is too low",
        "Invalid API key · Please run /login",
    ],
)
def test_a_notice_about_a_limit_is_no_title(
    claude: ClaudeHome, log: ClaudeLog, notice: str
) -> None:
    log.summary(notice)
    log.ai_title(notice)
    assert title(claude) == "please make the tests pass"


@pytest.mark.parametrize("weak", ["/init", "exit", "continue", "Hi!", "/"])
def test_a_bare_command_gives_way_to_the_first_words(claude: ClaudeHome, weak: str) -> None:
    log = claude.session()
    log.prompt(weak)
    with collected(claude.write()) as store:
        assert best_title(store, "claude:alpha") == weak
    log.answer("hello", call("Edit", file_path="/home/mira/code/app/door.py"))
    log.result("done")
    with collected(claude.write()) as store:
        assert best_title(store, "claude:alpha") == "changed door.py"
    log.prompt("please make the tests pass")
    assert title(claude) == "please make the tests pass"


def test_a_session_without_words_is_named_after_its_branch(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("continue", gitBranch="fix/red-door")
    log.answer("You've hit your limit", gitBranch="fix/red-door")
    with collected(claude.write()) as store:
        assert best_title(store, "claude:alpha") == "on fix/red-door"


def test_a_markdown_document_is_called_by_its_heading(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("# A red door\n\n## Why\n\nIt is grey.")
    assert title(claude) == "A red door"


def test_a_part_of_a_template_is_no_heading_of_a_document(claude: ClaudeHome) -> None:
    claude.session().prompt("## User Input\n\npaint the door")
    assert title(claude) == "## User Input paint the door"
