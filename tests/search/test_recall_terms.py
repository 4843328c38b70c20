"""How texts become the terms of recall: stems, parts of identifiers, neighbours of characters."""

import pytest

from session_memory.search.recall_terms import terms_in
from session_memory.search.stems import stem
from session_memory.search.synonyms import synonyms


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
