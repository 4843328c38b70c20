"""Sessions like another one: by words that tell it from the rest, and by files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from session_memory.learn.analyze import analyze
from session_memory.search.ranking import concepts_of
from session_memory.search.recall_fields import packed_weight
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.views.similar import similar_to_session, similar_to_text

COMMON = "please look at the code and run the tests"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    claude = ClaudeHome(tmp_path_factory.mktemp("similar") / "home")
    for number in range(12):
        log = claude.session(f"noise{number}")
        log.prompt(f"{COMMON} for feature{number}")
        log.answer(f"I did what feature{number} needs.")
    for name in ("first", "second"):
        log = claude.session(name)
        log.prompt(f"{COMMON}: the webhook signature is rejected by stripe")
        log.edit("/home/mira/code/app/src/payments/webhook.py")
        log.answer("The signature was computed over the parsed body, stripe wants the raw one.")
    agent = claude.subagent(log, "a1")
    agent.answer("stripe webhook signature, said by its own subagent")
    return claude.write()


@pytest.fixture
def unanalyzed(home: Path, collected_once: Callable[[Path], Store]) -> Store:
    return collected_once(home)


@pytest.fixture
def store(unanalyzed: Store) -> Store:
    analyze(unanalyzed)
    return unanalyzed


def test_a_session_is_most_like_the_one_about_the_same(store: Store) -> None:
    similar = similar_to_session(store, "claude:first")
    best = similar.found[0]
    assert best.session.uid == "claude:second"
    assert {"stripe", "webhook", "signature"} & set(best.words)
    assert best.files == ["src/payments/webhook.py"]
    assert best.likeness > 0.5
    assert all(best.likeness > other.likeness for other in similar.found[1:])


def test_its_own_subagents_are_left_out(store: Store) -> None:
    uids = [one.session.uid for one in similar_to_session(store, "claude:second").found]
    assert uids[0] == "claude:first"
    assert not any(uid.startswith("claude:second") for uid in uids)


def test_a_text_finds_the_sessions_about_it(store: Store) -> None:
    similar = similar_to_text(store, "stripe rejects a webhook", limit=2)
    assert {one.session.uid.split(":")[1] for one in similar.found} == {"first", "second"}


@pytest.mark.parametrize("text", ["", "the", "qqqqq nobody zzzzz", "\0\ud800 *"])
def test_a_text_that_tells_nothing_is_like_nothing(store: Store, text: str) -> None:
    assert similar_to_text(store, text).found == []


def test_what_everybody_says_counts_for_nothing(store: Store) -> None:
    similar = similar_to_text(store, COMMON)
    assert similar.found == []


def test_numbers_make_no_two_sessions_alike() -> None:
    weight = packed_weight(3.0, 1)
    found = concepts_of({"1329": weight, "stripe": weight, "ts2322": weight})
    assert [one.term for one in found] == ["stripe", "ts2322"]


@pytest.mark.only("sqlite", "postgresql")
def test_names_that_only_a_pasted_log_has_do_not_hide_the_similar_sessions(
    tmp_path: Path, collected_once: Callable[[Path], Store], everywhere: None
) -> None:
    claude = ClaudeHome(tmp_path / "home")
    for number in range(12):
        log = claude.session(f"noise{number}")
        log.prompt(f"{COMMON} for feature{number}")
        log.answer(f"I did what feature{number} needs.")
    frames = " ".join(f"chunk{number}qz" for number in range(80))
    for name, more in (("pasted", f" It breaks: {frames} {frames}"), ("same", "")):
        log = claude.session(name)
        log.prompt(f"the webhook signature is rejected by stripe{more}")
        log.answer("Done.")
    with collected_once(claude.write()) as store:
        analyze(store)
        best = similar_to_session(store, "claude:pasted").found[0]
    assert best.session.uid == "claude:same"
    assert best.likeness > 0.5
