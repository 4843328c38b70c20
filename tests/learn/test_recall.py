"""Recall: sessions ranked by a question, with terms that follow the digest."""

from pathlib import Path

import pytest

from session_memory.config import Config
from session_memory.core.errors import InvalidRecord
from session_memory.learn.analyze import analyze
from session_memory.learn.digest_check import check_digests
from session_memory.learn.recall import recall
from session_memory.retain.forget import forget
from session_memory.search import Filters
from session_memory.search.question import concepts_in, files_in
from session_memory.search.ranking import rank
from session_memory.store import Store
from session_memory.store.recall import Recall
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import collect, new_store
from session_memory.views.similar import search_sessions

SESSIONS = {
    "storm": "The page floods the backend with requests, stop that",
    "consent": "Show a confirmation dialog before a remediation starts",
    "camel": "useSessionStream reconnects for ever",
    "reconnect": "修复 WebSocket 重连问题",
    "near": "make the retry button of the upload form green",
    "far": "the button is green. Nobody knows where the form is. We retry the whole upload",
    "commit": "do it",
}


@pytest.fixture
def home(tmp_path: Path) -> ClaudeHome:
    home = ClaudeHome(tmp_path / "home", cwd="/home/mira/code/webshop")
    for name, prompt in SESSIONS.items():
        log = home.session(name)
        log.prompt(prompt)
        if name == "commit":
            log.run("git commit -m 'Cap the batch at ten invoices'", "[main 1a2b3c4] Cap the batch")
        log.answer("That is done.")
    for number in range(8):
        log = home.session(f"other-{number}")
        log.prompt(f"tidy the stylesheet number {number}")
        log.answer("Tidy.")
    return home


def learned(home: ClaudeHome) -> Store:
    store = new_store()
    collect(store, home.write())
    analyze(store)
    return store


def first(store: Store, question: str) -> str:
    found = recall(store, question, limit=3)
    return found[0].uid.removeprefix("claude:") if found else ""


def test_questions_find_their_sessions(home: ClaudeHome, everywhere: None) -> None:
    with learned(home) as store:
        for question, name in (
            ("how did we stop the UI hammering the server", "storm"),
            ("how did we ask for consent", "consent"),
            ("session streams", "camel"),
            ("为什么重连", "reconnect"),
            ("green retry button", "near"),
            ("limiting the batches", "commit"),
            ("zebra qqqq", ""),
            ("how did we", ""),
            ("", ""),
        ):
            assert first(store, question) == name, question


def test_a_synonym_counts_less_than_the_word(home: ClaudeHome) -> None:
    log = home.session("exact")
    log.prompt("Ask for consent")
    log.answer("Done.")
    with learned(home) as store:
        found = [one.uid for one in rank(store, concepts_in("consent"))]
    assert found == ["claude:exact", "claude:consent"]


def test_terms_are_part_of_what_is_verified(home: ClaudeHome) -> None:
    with learned(home) as store:
        assert not check_digests(store, ["claude:storm"]).findings
        with store.transaction():
            store.db.execute("update recall_terms set weight = weight + 1")
        (finding,) = check_digests(store, ["claude:storm"]).findings
    assert "its terms differ" in finding


def test_an_evicted_session_of_an_older_release_gets_its_terms_from_its_digest(
    home: ClaudeHome,
) -> None:
    with learned(home) as store:
        with store.transaction():
            Recall(store.db).forget("claude:storm")
            store.db.execute("update sessions set evicted_at = 1 where uid = 'claude:storm'")
        analyze(store)
        assert first(store, "flooding the backend") == "storm"


def test_no_secret_is_a_term(home: ClaudeHome) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    log = home.session("secret")
    log.prompt(f"use {secret} to push")
    log.answer(f"I pushed with {secret}.")
    with learned(home) as store:
        terms = Recall(store.db).terms_of("claude:secret") or {}
    assert "push" in terms
    assert not any("a1b2c3" in term for term in terms)


def test_a_forgotten_session_leaves_no_term(home: ClaudeHome) -> None:
    with learned(home) as store:
        before = store.db.value("select count(*) from recall_terms")
        own = len(Recall(store.db).terms_of("claude:storm") or {})
        forget(store, Config(), ["claude:storm"], 1)
        assert store.db.value("select count(*) from recall_terms") == before - own
        assert Recall(store.db).terms_of("claude:storm") is None


@pytest.mark.only("sqlite")
def test_a_search_for_sessions_takes_filters_of_sessions(home: ClaudeHome) -> None:
    with learned(home) as store:
        found = [
            [one.session.uid for one in search_sessions(store, text, Filters()).found]
            for text in ("flooding", "flooding repo:webshop", "flooding repo:billing")
        ]
        with pytest.raises(InvalidRecord, match="no filter for events"):
            search_sessions(store, "flooding kind:error", Filters())
    assert found == [["claude:storm"], ["claude:storm"], []]


def test_in_a_long_question_repeated_words_and_files_count_more() -> None:
    plan = """
        Add a progress line. The exporter writes invoices, the exporter sums taxes, and the
        exporter rounds. Change src/ledger_rows.ts, then look at colours, margins, fonts, icons.
    """
    shares = {one.term: one.share for one in concepts_in(plan)}
    assert shares["export"] > 2 * shares["margin"]
    assert shares["ledgerrows"] == 2 * shares["margin"]
    # A short question says each word once, and means each.
    short = {one.term: one.share for one in concepts_in("the exporter in ledger_rows.ts, exporter")}
    assert short["export"] == short["ledgerrows"] == 1.0


@pytest.mark.only("sqlite")
def test_a_session_that_edited_the_named_file_comes_first(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd="/home/mira/code/webshop")
    for name, path in (("editor", "src/ledger.rows.ts"), ("talker", "src/other.ts")):
        log = home.session(name)
        words = "ledger.rows.ts, sorting, the footer" if name == "talker" else "sorting the footer"
        log.prompt(f"repair {words}")
        log.answer(call("Edit", file_path=f"/home/mira/code/webshop/{path}", old_string="a"))
        log.result("updated")
        log.answer("Repaired.")
    with learned(home) as store:
        assert first(store, "sorting of the footer in src/ledger.rows.ts") == "editor"
    assert files_in("in src/ledger.rows.ts and main.py, e.g. 1.5") == {"ledger.rows.ts", "main.py"}


@pytest.mark.only("sqlite")
def test_of_sessions_with_the_same_words_those_with_shared_files_come_first(
    home: ClaudeHome, tmp_path: Path
) -> None:
    forum = ClaudeHome(tmp_path / "home", cwd="/home/mira/code/forum")
    for name, where, file in (
        ("alone", home, "notes.txt"),
        ("one", home, "footer.ts"),
        ("two", home, "footer.ts"),
        ("elsewhere", forum, "footer.ts"),
    ):
        log = where.session(name)
        log.prompt("the invoice is printed twice")
        log.answer(call("Edit", file_path=f"{where.cwd}/src/{file}", old_string="a"))
        log.result("updated")
        log.answer("Done.")
    forum.write()
    with learned(home) as store:
        found = recall(store, "invoices printed twice", limit=5)
    # A file of the same name in another repository is another file.
    assert [{one.uid for one in found[:2]}, {one.uid for one in found[2:4]}] == [
        {"claude:one", "claude:two"},
        {"claude:alone", "claude:elsewhere"},
    ]
