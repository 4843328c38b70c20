"""Transcripts and questions that were made to break a search."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import check_index, collected, new_store
from session_memory.testing.stores import Stores

from .asking import asked, found, said

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

ESCAPES = "\x1b]0;owned\x07\x1b[31mwebhook\x1b[0m \u202ekoohbew\u202c \u2066x\u2069 <b>&amp;</b>"
QUESTIONS = (
    *('"', '" OR "', "NEAR(", "NEAR(a b, 5)", "*", ":", "^", "^webhook", "-", "a OR b", "a AND b"),
    *(
        "text:webhook",
        "rowid:1",
        "words MATCH 'x'",
        "'; drop table words; --",
        "%",
        "_",
        "!%",
        "\\",
    ),
    *("'", "':*", "a & b | !c", "<->", "webhook:*", "(((((", ".*", "[a-z]+", "(?P<x>a)", "$", "\n"),
    *("\0", "\ud800", "\x1b[31m", "\u202e", "-*", "-**", '-"', "x:", "::", "{}", "%s", "{0}"),
    *("A" * 10_000, "a b " * 2_500, '"' + "a b " * 2_500 + '"', "a_" * 5_000, "*" * 10_000),
    *(" ".join(f"w{n}" for n in range(2_000)), " ".join(f"-w{n}" for n in range(2_000))),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    claude = ClaudeHome(tmp_path_factory.mktemp("hostile") / "home")
    claude.session("alpha").prompt("a webhook, and a b a b")
    return claude.write()


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_any_question_has_an_answer(
    question: str, home: Path, collected_once: Callable[[Path], Store]
) -> None:
    store = collected_once(home)
    for text in (question, f"webhook {question}", f"{question} webhook"):
        results = asked(store, text)
        assert len(results.hits) == results.total


def test_operators_of_the_engines_are_words(claude: ClaudeHome) -> None:
    claude.session("alpha").prompt("this OR that, NEAR the end")
    claude.session("beta").prompt("that NOT this")
    with collected(claude.write()) as store:
        assert len(said(store, "this OR that", classes=("message",))) == 1
        assert len(said(store, "NEAR", classes=("message",))) == 1
        assert len(said(store, "NOT", classes=("message",))) == 1


def test_what_is_shown_in_a_terminal_does_nothing_to_it(
    claude: ClaudeHome, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude.session("alpha")
    log.prompt(ESCAPES)
    log.answer("I look.", call("Bash\x1b[2J", command=f"echo '{ESCAPES}'"))
    log.result(ESCAPES)
    log.custom_title(ESCAPES)
    other = claude.session("beta")
    for number in range(20):
        other.prompt(f"noise{number}")
    place = stores.place("memory")
    collected(claude.write(), place).close()
    monkeypatch.setenv("SESSION_MEMORY_STORE", place)
    for words in (["search", "webhook"], ["similar", "--text", "webhook koohbew"]):
        shown = CliRunner().invoke(main, words, color=True)
        assert shown.exit_code == 0, shown.output
        assert "\x1b[" in shown.stdout, "in colour"
        assert not any(escape in shown.stdout for escape in ("\x1b]", "\x1b[31m", "\x1b[2J"))
        assert not set(shown.stdout) & set("\x07\u202e\u202c\u2066\u2069")
    result = CliRunner().invoke(main, ["search", "webhook", "--json"])
    assert any("\x1b[31mwebhook" in hit["snippet"] for hit in json.loads(result.stdout)["hits"])


def test_a_line_of_megabytes_is_found_by_any_of_its_words(claude: ClaudeHome) -> None:
    count = 100_000
    log = claude.session("alpha")
    log.prompt("print much")
    log.answer("so be it", call("Bash", command="yes"))
    chance = random.Random(1)
    words = [f"w{chance.randrange(10**7)}" for _ in range(count)]
    log.result(" ".join(words) + " the_end")
    with collected(claude.write()) as store:
        for word in (words[0], words[-1], words[count // 2], "the_end"):
            assert len(found(store, word)) == 1
        results = asked(store, f"{words[count // 3]} the_end", limit=5)
        assert results.total == 1
        assert words[count // 3] in results.hits[0].snippet.text


def test_hundreds_of_thousands_of_words_of_one_text_are_all_in_the_index(database: str) -> None:
    """A part of it for every half megabyte on PostgreSQL, and one doc all the same."""
    count = 400_000 if database == "sqlite" else 150_000
    with new_store() as store:
        with store.transaction():
            store.index.add([(4, " ".join(f"word{n}" for n in range(count)))])
            store.index.add([(8, "word1 other")])
        both = WordQuery(((QueryWord("word1"),), (QueryWord(f"word{count - 1}"),)))
        assert store.index.find(both) == [4]
        assert store.index.count(both) == 1
        assert store.index.count(WordQuery(((QueryWord("word", is_prefix=True),),))) == 2
        without = WordQuery(((QueryWord("word1"),),), (QueryWord(f"word{count - 1}"),))
        assert store.index.find(without) == [8]
        store.index.drop([4])
        assert dict(store.index.terms_from("")) == {"word1": 1, "other": 1}


def test_texts_that_no_database_holds_are_indexed(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("before\0after")
    prompt = '{"type":"user","uuid":"u-1","message":{"role":"user","content":"half \\ud800 cut"}}'
    title = '{"type":"custom-title","customTitle":"a\\u0000title \\udc00 here","sessionId":"alpha"}'
    log.raw(f"{prompt}\n{title}\n".encode())
    with collected(claude.write()) as store:
        check_index(store)
        assert len(said(store, "before after", classes=("message",))) == 1
        assert len(said(store, "title here", classes=("title",))) == 1
        assert len(said(store, "half cut", classes=("message",))) == 1
