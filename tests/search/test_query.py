"""Questions as people type them, read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.index_words import JOINT
from session_memory.search.query import MOST_TERMS, parse
from session_memory.store.word_query import QueryWord

pytestmark = pytest.mark.only("sqlite")


def words(text: str) -> list[list[str]]:
    return [[word.text for word in term.words] for term in parse(text).terms]


def test_words_stand_for_themselves() -> None:
    query = parse("Webhook sign*")
    assert [term.words for term in query.terms] == [
        (QueryWord("webhook"),),
        (QueryWord("sign", is_prefix=True),),
    ]
    assert not any(term.needs_text for term in query.terms)


def test_a_phrase_has_to_be_compared() -> None:
    (term,) = parse('"Rate  limit"').terms
    assert term.phrase == ("rate", "limit")
    assert term.matches("the rate-LIMIT was hit")
    assert not term.matches("limit the rate; rates limit")


def test_one_word_in_quotes_is_a_word() -> None:
    (term,) = parse('"webhook"').terms
    assert not term.needs_text


@pytest.mark.parametrize("text", ["src/auth/tokens.py:42", "snake_case", "a.b", "x-y", "認証"])
def test_what_is_in_pieces_stands_there_so(text: str) -> None:
    (term,) = parse(text).terms
    assert term.needs_text
    assert term.matches(f"in {text}x")
    assert not term.matches(" ".join(reversed(text)))


def test_a_short_last_word_is_not_asked_for_because_the_exact_text_implies_it() -> None:
    (term,) = parse("a-b").terms
    assert term.required_words == (QueryWord("a"), QueryWord(f"{JOINT}ab"))
    (term,) = parse("src/auth-tokens").terms
    last = QueryWord("tokens", is_prefix=True)
    assert term.required_words == (
        *(QueryWord("src"), QueryWord("auth"), last),
        QueryWord(f"{JOINT}ht"),
    )
    (term,) = parse("webhook").terms
    assert term.required_words == term.words


def test_a_part_may_begin_anywhere() -> None:
    (term,) = parse("*ignat*").terms
    assert term.is_part
    assert term.words == (QueryWord("ignat", is_prefix=True),)


def test_what_is_not_wanted_has_a_minus() -> None:
    query = parse('fix -test -"two words" -x_y')
    assert [term.shown for term in query.positive] == ["fix"]
    assert [term.shown for term in query.negative] == ["test", '"two words"', "x_y"]


def test_fields_narrow_down_and_are_no_words() -> None:
    assert parse("-repo:web* x").fields == (("-repo", "web*"),)
    query = parse('timeout repo:web* tool:Bash since:30d file:"my file.py" model:opus')
    assert words("timeout repo:webshop") == [["timeout"]]
    assert dict(query.fields) == {
        "repo": "web*",
        "tool": "Bash",
        "since": "30d",
        "file": "my file.py",
        "model": "opus",
    }


def test_a_command_is_looked_for_in_calls() -> None:
    query = parse('cmd:"git push"')
    assert query.fields == (("class", "call"),)
    assert query.terms[0].phrase == ("git", "push")


@pytest.mark.parametrize("text", ["https://example.org/a", "std::vector", "12:30", "error: none"])
def test_a_colon_alone_makes_no_field(text: str) -> None:
    query = parse(text)
    assert not query.fields
    assert query.terms


@pytest.mark.parametrize("text", ["", "  ", '"', '""', "*", "**", "-", "--", "(", '"…"', "-*"])
def test_what_has_no_words_asks_for_nothing(text: str) -> None:
    assert not parse(text).terms


@given(st.text(max_size=300))
def test_any_text_is_a_question(text: str) -> None:
    for term in parse(text).terms:
        assert term.words
        assert isinstance(term.matches(text), bool)


def test_a_question_has_so_many_terms_at_most() -> None:
    assert len(parse(" ".join(f"word{n}" for n in range(5000))).terms) == MOST_TERMS
