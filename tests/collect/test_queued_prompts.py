"""Prompts typed while the agent works, and texts in the user's name that nobody typed."""

from pathlib import Path

import pytest

from session_memory.core.schema import SessionEvent
from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.codex import LEGACY, CodexHome
from session_memory.testing.collecting import (
    check_index,
    collect,
    collected,
    events_of,
    new_store,
    rebuilt,
)

UID = "claude:alpha"

# What a line means is decided before anything is stored.
pytestmark = pytest.mark.only("sqlite")


@pytest.fixture
def log(claude: ClaudeHome) -> ClaudeLog:
    log = claude.session()
    log.prompt("make it work")
    log.answer(call("Bash", command="pytest"))
    return log


def queue(log: ClaudeLog, operation: str, content: object = None) -> None:
    log.note("queue-operation", operation=operation, content=content)


def prompts(store: Store, uid: str = UID) -> list[str]:
    """The prompts of a session. Their number is the number of its turns."""
    found = [event.summary for event in events_of(store, uid) if event.is_a("user_msg")]
    row = store.sessions.row(uid)
    assert row is not None and row.turns == len(found)
    return found


def prompts_in(claude: ClaudeHome) -> list[str]:
    with collected(claude.write()) as store:
        check_index(store)
        return prompts(store)


def test_a_prompt_that_only_the_queue_has_is_a_prompt(claude: ClaudeHome, log: ClaudeLog) -> None:
    queue(log, "enqueue", "then commit")
    queue(log, "remove")
    log.result("1 passed")
    with collected(claude.write()) as store:
        assert prompts(store) == ["make it work", "then commit"]
        queued = next(e for e in events_of(store, UID) if e.summary == "then commit")
    assert (queued.kind, queued.role, queued.marks) == ("human_intervention", "user", ("user_msg",))


def test_a_prompt_that_is_logged_again_counts_once(claude: ClaudeHome, log: ClaudeLog) -> None:
    queue(log, "enqueue", "then commit")
    queue(log, "dequeue")
    log.result("1 passed")
    log.prompt("then  commit\n")
    assert prompts_in(claude) == ["make it work", "then commit"]
    log.queued("and push")
    assert prompts_in(claude) == ["make it work", "then commit", "and push"]
    queue(log, "enqueue", "and push")
    assert prompts_in(claude) == ["make it work", "then commit", "and push", "and push"]


def test_a_prompt_with_images_that_is_logged_again_counts_once(
    claude: ClaudeHome, log: ClaudeLog
) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    words = "[Image #1] this is what I see"
    log.queued(words, prompt=[{"type": "text", "text": words}, picture])
    log.answer("I see.")
    with collected(claude.write()) as store:
        assert len(prompts(store)) == 2


def test_prompts_that_were_taken_back_are_none(claude: ClaudeHome, log: ClaudeLog) -> None:
    queue(log, "enqueue", "then commit")
    queue(log, "enqueue", "and push")
    queue(log, "popAll", "then commit\nand push")
    log.result("1 passed")
    log.prompt("just commit")
    assert prompts_in(claude) == ["make it work", "just commit"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        7,
        "/clear",
        "/model opus",
        '{"task_id":"b1","description":"run the tests","task_type":"local_bash"}',
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        '<teammate-message teammate_id="lead">go on</teammate-message>',
    ],
    ids=repr,
)
def test_commands_and_reports_in_the_queue_are_no_prompts(
    claude: ClaudeHome, log: ClaudeLog, content: object
) -> None:
    queue(log, "enqueue", content)
    assert prompts_in(claude) == ["make it work"]


def test_a_path_in_the_queue_is_no_command(claude: ClaudeHome, log: ClaudeLog) -> None:
    queue(log, "enqueue", "/home/mira/shot.png is what I see")
    assert prompts_in(claude)[1:] == ["/home/mira/shot.png is what I see"]


def test_syncing_after_every_line_gives_the_same(claude: ClaudeHome, log: ClaudeLog) -> None:
    """A prompt of an earlier sync becomes a note when it is logged again."""
    for words in ("then commit", "and push", "and rest"):
        queue(log, "enqueue", words)
    log.result("1 passed")
    log.prompt("then commit")
    log.answer("done")
    log.prompt("and push")
    queue(log, "popAll")
    lines, log.lines = log.lines, []
    with new_store() as store:
        for line in lines:
            log.lines.append(line)
            collect(store, claude.write())
        assert prompts(store) == ["make it work", "then commit", "and push"]
        check_index(store)
        whole = store.fingerprint()
        assert rebuilt(store).fingerprint() == whole
    with collected(claude.path) as store:
        assert store.fingerprint() == whole


# ---------------------------------------------------------------- texts that nobody typed


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ('<teammate-message teammate_id="lead" color="blue">go on</teammate-message>', "teammate"),
        ("<user-prompt-submit-hook>be kind</user-prompt-submit-hook>", "hook"),
        ("Stop hook feedback:\n[lint]: 3 errors", "hook"),
        ("PreToolUse:Bash hook additional context: be careful", "hook"),
        ("UserPromptSubmit operation blocked by hook:\nno secrets", "hook"),
        ("SessionStart:startup hook success: ready", "hook"),
        ("Unknown slash command: foo", "command"),
        ("<system-reminder>the date</system-reminder>", "context"),
        ("<local-command-stdout>Bye!</local-command-stdout>", "local_command"),
        ("Implement the following plan:\n\n# Plan: a door\n\nsteps", "plan"),
    ],
)
def test_injected_texts_are_notes_with_the_role_of_the_user(
    claude: ClaudeHome, log: ClaudeLog, words: str, kind: str
) -> None:
    log.prompt(words)
    with collected(claude.write()) as store:
        assert prompts(store) == ["make it work"]
        note = last(store)
    assert (note.kind, note.role) == ("lifecycle", "user")
    assert (note.native_kind or "").startswith("user/") and kind in (note.native_kind or "")


@pytest.mark.parametrize(
    "words",
    ["implement the following plan: a door", "Git hook: it fails", "<my-door>x</my-door>", "Stop"],
)
def test_words_that_resemble_an_injected_text_are_a_persons(
    claude: ClaudeHome, log: ClaudeLog, words: str
) -> None:
    log.prompt(words)
    assert prompts_in(claude) == ["make it work", words]


def test_an_accepted_plan_begins_a_turn_and_names_the_session(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt(
        "Implement the following plan:\n\n# A red door\n\n## Why", planContent="# A red door"
    )
    log.answer("done")
    log.prompt("commit")
    with collected(claude.write()) as store:
        assert prompts(store) == ["commit"]
        row = store.sessions.row(UID)
        assert row is not None and row.title == "A red door"


def test_a_local_command_reads_as_it_was_typed(claude: ClaudeHome, log: ClaudeLog) -> None:
    log.prompt(
        "<command-name>/model</command-name>\n            <command-message>model</command-message>"
        "\n            <command-args>opus</command-args>"
    )
    with collected(claude.write()) as store:
        assert prompts(store) == ["make it work"]
        assert last(store).summary == "/model opus"


def test_a_plan_that_codex_was_told_to_implement_is_no_prompt(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path)
    log = codex.session("one", LEGACY)
    log.turn("plan a door")
    log.answer("# A red door")
    log.complete()
    log.turn("PLEASE IMPLEMENT THIS PLAN:\n# A red door\n\n## Why")
    log.answer("done")
    log.complete()
    log.turn("Implement the plan.")
    log.answer("done")
    log.complete()
    log.event("thread_rolled_back", num_turns=2)
    log.turn("paint it")
    codex.write()
    with collected(tmp_path) as store:
        assert prompts(store, log.uid) == ["plan a door", "paint it"]
        events = events_of(store, log.uid)
        plans = [event for event in events if event.native_kind == "user/plan"]
        assert [plan.kind for plan in plans] == ["lifecycle", "lifecycle"]
        # Codex counts them when turns are taken back.
        assert all(plan.branch is not None for plan in plans)
        assert next(event for event in events if event.summary == "plan a door").branch is None


def last(store: Store) -> SessionEvent:
    return events_of(store, UID)[-1]


def test_a_plan_for_a_fresh_context_is_no_prompt_and_names_the_session(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path)
    log = codex.session("one")
    log.turn(
        "A previous agent produced the plan below to accomplish the user's task. Implement it "
        "in a fresh context.\n\n# A red door\n\n## Why"
    )
    log.answer("done")
    codex.write()
    with collected(tmp_path) as store:
        assert prompts(store, log.uid) == []
        row = store.sessions.row(log.uid)
        assert row is not None and row.title == "A red door"
