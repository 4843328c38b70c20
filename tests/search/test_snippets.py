"""Snippets: a line around the best place, with what matches marked."""

import pytest

from session_memory.search.query import parse
from session_memory.search.snippets import LENGTH, snippet

pytestmark = pytest.mark.only("sqlite")


def marked(text: str, question: str, *words: str) -> list[str]:
    shown = snippet(text, parse(question).terms, words)
    return [shown.text[start:end] for start, end in shown.marks]


@pytest.mark.parametrize(
    ("text", "question", "marks"),
    [
        ("The Webhook, the webhooks", "webhook", ["Webhook"]),
        ("The Webhook, the webhooks", "webhook*", ["Webhook", "webhook"]),
        ("verifySignature(x)", "*signat*", ["Signat"]),
        ("a rate-limit, a limit", '"rate limit"', ["rate-limit"]),
        ("at src/auth/tokens.py:42", "auth/tokens", ["auth/tokens"]),
        ("snake_case snake case", "snake_case", ["snake_case"]),
        ("in einem Café", "cafe", ["Café"]),
        ("in einem Cafe\u0301.", "café", ["Cafe"]),
        ("修复webhook签名", "webhook", ["webhook"]),
        ("修复签名", "签名", ["签名"]),
        ("die Straße", "strasse", ["Straße"]),
        ("a word and another", "word -another", ["word"]),
        ("my_test testing", "test", ["test"]),
    ],
)
def test_what_matches_is_marked(text: str, question: str, marks: list[str]) -> None:
    assert marked(text, question) == marks


def test_other_spellings_are_marked_too() -> None:
    assert marked("verifySignature", "nobody", "verifysignature") == ["verifySignature"]


def test_the_line_is_about_the_place_where_most_words_are_together() -> None:
    text = "webhook " + "blah " * 500 + "\n\nthe webhook has\ta signature " + "blah " * 500
    shown = snippet(text, parse("webhook signature").terms)
    assert "the webhook has a signature" in shown.text
    assert shown.text.startswith("…blah")
    assert shown.text.endswith("…")
    assert len(shown.text) <= LENGTH + 2


def test_a_text_without_the_words_shows_its_beginning() -> None:
    shown = snippet("x " * 1000, parse("webhook").terms)
    assert shown.text.startswith("x x")
    assert not shown.marks


def test_without_terms_it_is_the_beginning() -> None:
    assert snippet("one\n two", ()).text == "one two"


def test_marks_lie_within_the_line() -> None:
    for text in ("é" * 300 + " webhook " + "é" * 300, "webhook" * 100, "İİİ webhook"):
        shown = snippet(text, parse("webhook").terms)
        assert all(0 <= start < end <= len(shown.text) for start, end in shown.marks)
