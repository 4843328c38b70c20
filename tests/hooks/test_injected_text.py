"""Text that a hook injected is nobody's words: no prompt, no error. Only plain search finds it."""

from pathlib import Path

import pytest

from session_memory.core.injected import is_injected, marked, without_injected
from session_memory.learn.analyze import analyze
from session_memory.learn.digests import digest_of
from session_memory.search.recall_terms import ERROR_MARK
from session_memory.store import Store
from session_memory.store.recall import Recall
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.codex import CodexHome, ran
from session_memory.testing.collecting import check_index, collected, events_of
from session_memory.testing.grok import GrokHome

OURS = marked("edited | src/zanzibar.py\nerror | ZanzibarError: please always use tabs", ref="a#1")
PROMPT = "make the kumquat tests pass"
HIDDEN = marked("pomelo", ref="a#2")


def check(store: Store, uid: str, prompts: list[str]) -> None:
    events = events_of(store, uid)
    assert [one.summary for one in events if one.kind == "user_msg"] == prompts
    check_index(store)
    analyze(store)
    digest = digest_of(store, uid)
    assert digest is not None
    assert [one.text for one in digest.prompts] == prompts
    learned = str(digest.error_snippets) + str(digest.interventions) + str(digest.decisions)
    assert "anzibar" not in learned and "tabs" not in learned
    assert "anzibar" not in str(digest.title)
    recall = Recall(store.db)
    assert recall.count_of("kumquat") and not recall.count_of("zanzibar")
    assert not recall.count_of(f"{ERROR_MARK}zanzibarerror")
    # No log can hide text from a plain search by a mark of ours.
    assert store.index.terms_from("zanzibar") and store.index.terms_from("pomelo")
    store.close()


def test_claude(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session()
    log.prompt(f"{PROMPT}\n\n{OURS}\n{HIDDEN}")
    log.answer("I run them.", call("Bash", command="pytest -q"))
    log.result(f"Exit code 1\nE   ValueError: bad kumquat\n{OURS}", is_error=True)
    log.attachment("hook_additional_context", content=[OURS], hookEvent="PostToolUseFailure")
    log.prompt(OURS)
    log.answer("Done with the kumquat.")
    store = collected(home.write())
    kinds = {one.native_kind for one in events_of(store, log.uid)}
    assert {"user/session_memory", "attachment/hook_additional_context"} <= kinds
    check(store, log.uid, [PROMPT])


def test_codex(tmp_path: Path) -> None:
    home = CodexHome(tmp_path)
    log = home.session("alpha")
    log.turn(f"{PROMPT}{HIDDEN}")
    log.shell("pytest -q")
    log.result(ran(1, f"E   ValueError: bad kumquat\n{OURS}"))
    log.say("developer", OURS)
    log.say("user", OURS)
    log.answer("Done with the kumquat.")
    log.complete()
    store = collected(home.write())
    check(store, log.uid, [PROMPT])


def test_grok(tmp_path: Path) -> None:
    home = GrokHome(tmp_path)
    log = home.session()
    log.prompt(f"{PROMPT}{HIDDEN}")
    log.run("pytest -q", f"E   ValueError: bad kumquat\n{OURS}", 1)
    log.prompt(f"<system-reminder>\n{OURS}\n</system-reminder>")
    log.prompt(OURS)
    log.say("Done with the kumquat.")
    store = collected(home.write())
    check(store, f"grok:{log.session}", [PROMPT])


@pytest.mark.only("sqlite")
def test_only_whole_marks_of_ours_are_left_out() -> None:
    assert without_injected(f"a {OURS} b {OURS}c") == "a  b c"
    assert is_injected(f" {OURS}\n{OURS}\n") and not is_injected(f"{OURS}.")
    for text in ("", "<session-memory>", '<session-memory ref="x">', "</session-memory>"):
        assert without_injected(text) == text and not is_injected(text)
    # Gemini and Qwen escape what a hook says.
    escaped = OURS.replace("<", "&lt;").replace(">", "&gt;")
    assert without_injected(f"a {escaped} b {OURS}c") == "a  b c" and is_injected(escaped)
    # Nobody can hide a long text this way.
    long = marked("x" * 4_000, ref="a")
    assert without_injected(long) == long
    many = '<session-memory ref="' * 20_000
    assert without_injected(many) == many
