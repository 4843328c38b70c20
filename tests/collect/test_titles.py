"""What a session is called: the name a person gave, else the agent's, else what was asked."""

from pathlib import Path

import pytest

from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.codex import CodexHome
from session_memory.testing.collecting import collect, collected
from session_memory.views.session_titles import best_title

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


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


def test_of_a_template_the_words_of_the_person_are_the_name(claude: ClaudeHome) -> None:
    claude.session().prompt("## User Input\n\n```text\npaint the door\n```\n\nYou **must** do it.")
    assert title(claude) == "paint the door"


# ------------------------------------------------------------ what was done


def commit(log: ClaudeLog, subject: str, output: str | None = None) -> None:
    made = f"[main 1a2b3c4] {subject}\n 1 file changed"
    log.run(f'git add -A && git commit -m "{subject}"', made if output is None else output)


def test_a_commit_says_more_than_a_prompt(claude: ClaudeHome, log: ClaudeLog) -> None:
    commit(log, "wip")
    commit(log, "Never made", "pre-commit hook failed")
    commit(log, "Bump version to 1.2.0")
    assert title(claude) == "please make the tests pass"
    commit(log, "fix(door): paint it red")
    commit(log, "docs: the colour of doors")
    assert title(claude) == "fix(door): paint it red"
    log.ai_title("Red doors")
    assert title(claude) == "Red doors"
    log.ai_title("Sync main and discard changes")
    assert title(claude) == "fix(door): paint it red"


def test_a_commit_whose_output_is_hidden_is_named_by_its_command(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    log.run("wrap git commit -m \"$(cat <<'EOF'\nPaint the door red\n\nwhy\nEOF\n)\"", "ok")
    assert title(claude) == "Paint the door red"


def test_a_commit_may_get_its_message_from_a_document(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.run("git add -A && git commit -q -F - <<'EOF'\nPaint the door red\n\nwhy\nEOF\n", "")
    assert title(claude) == "Paint the door red"


def test_the_plan_that_was_carried_out_says_more_than_its_commit(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("Implement the following plan:\n\n# Plan: A red door\n\n## Why", planContent="# A")
    commit(log, "feat: colours")
    assert title(claude) == "A red door"


def test_a_session_that_only_planned_is_called_by_its_plan(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("hm, that door there, what could we do about it?")
    log.answer(call("ExitPlanMode", plan="# Plan: A green door\n\n## Why"))
    log.reject("red, please")
    assert title(claude) == "hm, that door there, what could we do about it?"
    log.answer(call("ExitPlanMode", plan="# Plan: A red door\n\n## Why"))
    log.reject()
    assert title(claude) == "Plan: A red door"
    log.prompt("go on here")
    log.edit("/home/mira/code/app/door.py")
    assert title(claude) == "A red door"


@pytest.mark.parametrize(
    "chore",
    [
        "ok lets get back to main",
        "Update this branch to the latest remote",
        "Pull latest main",
        "add commit",
        "commit and push",
        "回到main分支的最新提交",
        "test prompt",
    ],
)
def test_a_chore_gives_way_to_the_work(claude: ClaudeHome, chore: str) -> None:
    log = claude.session()
    log.prompt(chore)
    log.answer("done")
    assert title(claude) == chore
    log.prompt("update the main page, the door is grey")
    assert title(claude) == "update the main page, the door is grey"


def test_a_link_is_called_by_its_text(claude: ClaudeHome) -> None:
    claude.session().prompt("Update [door.ts](src/doors/door.ts) and paint it")
    assert title(claude) == "Update door.ts and paint it"


def test_a_nickname_is_followed_by_the_task(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path)
    parent = codex.session("parent")
    parent.turn("paint the door")
    child = codex.subagent(parent, "child", agent_nickname="Ada")
    child.turn("mix the red paint")
    review = codex.session("review", source={"subagent": "review"}, session_id=parent.thread)
    review.turn("Review the changes against main")
    guardian = codex.session(
        "guardian", source={"subagent": {"other": "guardian"}}, session_id=parent.thread
    )
    guardian.turn(
        "The following is the Codex agent history whose request action you are assessing.\n"
        "[1] user: paint the door\n>>> APPROVAL REQUEST START\nPlanned action JSON:\n"
        '{"command": ["/bin/zsh", "-lc", "brush door"], "justification": "May I paint?"}\n'
        ">>> APPROVAL REQUEST END\n"
    )
    codex.write()
    with collected(tmp_path) as store:
        titles = {one.session_uid: one.title for one in store.sessions.every()}
        assert titles[child.uid] == "Ada: mix the red paint"
        assert titles[review.uid] == "Review the changes against main"
        assert titles[guardian.uid] == best_title(store, guardian.uid) == "guardian: May I paint?"
