"""How: sessions that did a task, those that fit best first, with what mattered in them."""

from pathlib import Path

import pytest

from session_memory.derive.reindex import reindex
from session_memory.learn.analyze import analyze
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.codex import CodexHome, ran
from session_memory.testing.collecting import collect, new_store
from session_memory.views.how import HowDone, how_done

TASK = "add a webhook endpoint for payments"


@pytest.fixture
def home(tmp_path: Path) -> ClaudeHome:
    return ClaudeHome(tmp_path / "home", cwd="/home/mira/code/webshop")


def learned(root: Path, *, analyzed: bool = True) -> Store:
    store = new_store()
    collect(store, root)
    reindex(store)
    if analyzed:
        analyze(store)
    return store


def asked(store: Store, task: str = TASK, **how: object) -> HowDone:
    return how_done(store, task, **how)  # type: ignore[arg-type]


def session(home: ClaudeHome, name: str, prompt: str, *, passed: bool | None = True) -> str:
    log = home.session(name)
    log.prompt(prompt)
    log.run("git status --short", "")
    log.run("cat src/payments.py | head -20", "import http")
    log.edit(f"{home.cwd}/src/webhooks.py")
    log.edit(f"{home.cwd}/src/webhooks.py")
    log.edit(f"{home.cwd}/src/routes.py")
    log.run("make migrate", "done")
    if passed is not None:
        log.run("pytest -q", "4 passed" if passed else "1 failed, 3 passed", 0 if passed else 1)
    log.answer("The endpoint is there." if passed else "It does not work.")
    return log.uid


def other(home: ClaudeHome, count: int) -> None:
    for number in range(count):
        log = home.session(f"other-{number}")
        log.prompt(f"tidy the stylesheet number {number}")
        log.run(f"npx stylelint src/{number}.css", "clean")
        log.answer("Tidy.")


def test_sessions_that_did_it_are_listed_with_what_mattered(
    home: ClaudeHome, everywhere: None
) -> None:
    uid = session(home, "did-it", TASK)
    other(home, 6)
    with learned(home.write()) as store:
        (did, *_) = asked(store).sessions
    assert did.session_uid == uid
    assert (did.outcome, did.repo, did.flavor) == ("success", "webshop", "claude")
    assert did.commands == ("make migrate", "pytest -q")
    assert did.files == (f"{home.cwd}/src/webhooks.py", f"{home.cwd}/src/routes.py")
    assert did.is_analyzed


def test_of_two_that_fit_alike_the_successful_one_comes_first(home: ClaudeHome) -> None:
    failed = session(home, "failed-it", TASK, passed=False)
    did = session(home, "succeeded", TASK)
    other(home, 6)
    with learned(home.write()) as store:
        found = asked(store).sessions
    assert [one.session_uid for one in found[:2]] == [did, failed]
    assert [one.outcome for one in found[:2]] == ["success", "fail"]


def test_a_session_that_fits_better_comes_before_a_successful_one(home: ClaudeHome) -> None:
    failed = session(home, "failed-it", TASK, passed=False)
    did = session(home, "did-it", "list the payments in the shop")
    other(home, 6)
    with learned(home.write()) as store:
        found = asked(store).sessions
    assert [one.session_uid for one in found[:2]] == [failed, did]


def test_an_answer_shows_why_it_matched_and_how_it_ended(home: ClaudeHome) -> None:
    log = home.session("did-it")
    log.prompt("Tidy the shop")
    log.answer("What else?")
    log.prompt("The shop sends mails at once. Show a confirmation dialog first.")
    log.answer("# Done\n\nThe dialog has **two** buttons.")
    other(home, 6)
    with learned(home.write()) as store:
        (did, *_) = asked(store, "how did we ask for consent").sessions
    assert [(word.asked, word.found) for word in did.words] == [("consent", "confirmation")]
    assert did.why == ("confirmation (for consent): prompt",)
    assert did.excerpt is not None
    assert (did.excerpt.field, did.excerpt.text) == ("prompt", "Show a confirmation dialog first.")
    assert did.answer == "Done The dialog has two buttons."


def test_any_agent_may_have_done_it(tmp_path: Path, home: ClaudeHome, everywhere: None) -> None:
    codex = CodexHome(home.path)
    log = codex.session("alpha")
    log.turn(TASK)
    log.shell("uv run alembic upgrade head")
    log.result(ran(0, "upgraded"))
    log.shell("pytest -q")
    log.result(ran(0, "4 passed"))
    log.answer("Done.")
    log.complete()
    codex.write()
    other(home, 6)
    with learned(home.write()) as store:
        (did, *_) = asked(store).sessions
    assert did.session_uid == log.uid
    assert did.commands == ("pytest -q", "uv run alembic upgrade head")


def test_one_repository_can_be_asked(home: ClaudeHome) -> None:
    session(home, "did-it", TASK)
    with learned(home.write()) as store:
        assert len(asked(store, repo="webshop").sessions) == 1
        assert asked(store, repo="billing").sessions == []


def test_what_was_not_analyzed_is_found_and_said_to_be_that(home: ClaudeHome) -> None:
    uid = session(home, "did-it", TASK)
    other(home, 6)
    with learned(home.write(), analyzed=False) as store:
        (did, *_) = asked(store).sessions
    assert (did.session_uid, did.is_analyzed, did.commands) == (uid, False, ())


def test_a_task_that_nobody_had_finds_nothing(home: ClaudeHome) -> None:
    other(home, 3)
    with learned(home.write()) as store:
        assert asked(store, "translate the handbook to Finnish").sessions == []


def test_what_a_subagent_did_counts_for_who_was_asked(home: ClaudeHome) -> None:
    log = home.session("asked")
    log.prompt("do what the plan says")
    log.answer(call("Task", description="payments", prompt=TASK))
    agent = home.subagent(log, "a1")
    agent.prompt(TASK)
    agent.run("make webhook", "done")
    agent.answer("Done.")
    log.result("Done.")
    log.answer("Done.")
    other(home, 6)
    with learned(home.write()) as store:
        (did, *_) = asked(store).sessions
    assert did.session_uid == log.uid
