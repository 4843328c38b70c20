"""How texts become the terms of recall: stems, parts of identifiers, neighbours of characters."""

import random
from itertools import chain

import pytest

from session_memory.search.question import concepts_in
from session_memory.search.recall_terms import (
    _TOKEN,
    TermCounter,
    _plain,
    _token_terms,
    may_have,
    terms_in,
)
from session_memory.search.stems import stem
from session_memory.search.synonyms import synonyms

# No text here reaches a database.
pytestmark = pytest.mark.only("sqlite")


@pytest.mark.parametrize(
    "words",
    [
        "deploy deploys deployed deploying deployment",
        "connect connected connecting connection connections",
        "verify verifies verified",
        "size sizes sized sizing",
        "hop hopped hopping",
        "relational relate",
        "hopeful hopefulness",
        "fall falling",
        "agree agreed",
        "recognise recognised recognize recognizing",
        "optimisation optimization optimise",
        "colour colours coloured color",
        "dialogue dialog dialogs",
        "analyse analysis analyze",
        "choose chose chosen choosing",
        "write wrote written writing",
        "raise raised raising",
    ],
)
def test_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1, [stem(one) for one in words.split()]


@pytest.mark.parametrize("word", ["", "a", "as", "bus", "url", "größe", "py3", "数据"])
def test_short_and_other_words_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("how did we fix the login?", ["fix", "login"]),
        ("parseUserId", ["pars", "user", "id", "parseuserid"]),
        ("HTTPServer snake_case", ["http", "server", "httpserver", "snake", "case", "snakecase"]),
        ("src/auth/tokens.py", ["src", "auth", "token", "py"]),
        ("real-time", ["real", "time", "realtim"]),
        ("tag 0.3.0", ["tag", "0.3.0"]),
        ("TS2322", ["ts", "2322", "ts2322"]),
        ("修复重连", ["修复", "复重", "重连"]),
        ("修", ["修"]),
        ("Fix: 修复 tab", ["fix", "修复", "tab"]),
        ("café Müller", ["cafe", "muller"]),
        ("ошибка ошибками", ["ошибка", "ошибка"]),
        ("한국어", ["한국", "국어"]),
        ("commit 1a2b3c4d5e6f7a8b", ["commit"]),
        ("", []),
        ("\0\ud800 *", []),
    ],
)
def test_a_text_gives_its_terms(text: str, terms: list[str]) -> None:
    assert terms_in(text) == terms


def test_synonyms_go_both_ways() -> None:
    assert stem("confirmation") in synonyms(stem("consent"))
    assert stem("consent") in synonyms(stem("confirmation"))
    assert not synonyms("nobodysword")


def test_a_word_is_no_synonym_of_itself() -> None:
    for word in ("fix", "stop", "file", "run"):
        assert stem(word) not in synonyms(stem(word))


def test_everyday_words_go_one_way() -> None:
    assert stem("split") in synonyms(stem("chop"))
    assert stem("chop") not in synonyms(stem("split"))


@pytest.mark.parametrize(
    ("question", "term", "name"),
    [
        ("how did we get rid of the banner", "rid", "remove"),
        ("the text of the merge request", "merg", "pr"),
        ("Release Notes of last week", "note", "changelog"),
        ("a call to action nobody sees", "action", "cta"),
    ],
)
def test_a_phrase_has_names(question: str, term: str, name: str) -> None:
    (found,) = [one for one in concepts_in(question) if one.term == term]
    assert stem(name) in found.names and stem(name) in found.others


def test_two_neighbours_may_be_one_word() -> None:
    found = {one.term: one for one in concepts_in("show it on the side bar")}
    assert stem("sidebar") in found["side"].others and stem("sidebar") in found["bar"].others
    assert not found["side"].names


def test_a_long_question_is_asked_in_its_own_words() -> None:
    words = " ".join(f"word{chr(97 + number)}" for number in range(20))
    assert not any(one.others for one in concepts_in(f"remove {words}"))


SPOKEN = (
    "ying aing oeds "
    "brought bought taught dies dying icying yying tries analysing deploymentPlan re-run x_un 3.11"
    " Über naïve 部署失败 went colours The the told held woken rewritten _u_n GitHub a-b don't"
)


@pytest.mark.parametrize("term", sorted(set(terms_in(SPOKEN))))
def test_terms_that_are_asked_for_are_counted_without_stemming_every_word(term: str) -> None:
    assert TermCounter([term]).counts(f"{SPOKEN} {SPOKEN}")[term] == 2 * terms_in(SPOKEN).count(
        term
    )


def test_signs_are_left_out_as_if_the_whole_text_was_made_plain() -> None:
    rng = random.Random(5)
    blocks = ((0x80, 0x600), (0xE00, 0x1100), (0x1780, 0x2C00), (0x3000, 0x3100), (0xFB00, 0x10000))
    signs = [chr(code) for block in blocks for code in range(*block)]
    for _ in range(3_000):
        some = [
            rng.choice("abXY01-'._ ’") if rng.random() < 0.6 else rng.choice(signs)
            for _ in "123456"
        ]
        text = "".join(some)
        plain = list(chain.from_iterable(map(_token_terms, _TOKEN.findall(_plain(text)))))
        assert terms_in(text) == plain, ascii(text)


@pytest.mark.parametrize("text", ["it broke again", "a broken build", "it breaks", "Break it"])
def test_a_text_with_a_term_in_any_form_may_have_it(text: str) -> None:
    assert "break" in terms_in(text)
    assert may_have(text, ["break"])
    assert not may_have(text, ["deploi"])
