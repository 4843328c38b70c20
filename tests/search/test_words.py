"""Words: one rule for texts and questions, in any script, and the same one in both databases."""

import unicodedata

import pytest
from effort import IS_REPEATABLE, times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.index_words import (
    JOINT,
    LONGEST,
    folded,
    has_folded,
    indexable,
    joints_in,
    vocabulary,
    words_in,
)
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.testing.collecting import new_store

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

EXAMPLES = {
    "sqlite": times(100),
    "postgresql": times(20),
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fix the webhook!", ["fix", "the", "webhook"]),
        ("snake_case and kebab-case", ["snake", "case", "and", "kebab", "case"]),
        ("verifySignature", ["verifysignature"]),
        ("src/auth/tokens.py:42", ["src", "auth", "tokens", "py", "42"]),
        ("Café über naïve Ångström", ["cafe", "uber", "naive", "angstrom"]),
        ("cafe\u0301", ["cafe"]),
        ("Straße", ["strasse"]),
        ("ΣΊΣΥΦΟΣ Σίσυφος", ["σισυφοσ", "σισυφοσ"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("修复webhook签名", ["修", "复", "webhook", "签", "名"]),
        ("カタカナ", ["カ", "タ", "カ", "ナ"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("ﬁle ＡＢＣ ①", ["file", "abc", "1"]),
        ("ship it 🚀now", ["ship", "it", "🚀", "now"]),
        ("a\0b", ["a", "b"]),
        ("left\ud800right", ["left", "right"]),
        ("x" * 300, ["x" * LONGEST]),
        ("…—«»", []),
        ("", []),
    ],
)
@pytest.mark.only("sqlite")
def test_a_text_is_these_words(text: str, words: list[str]) -> None:
    assert words_in(text) == words


@pytest.mark.only("sqlite")
def test_hangul_is_found_by_the_beginning_of_a_word() -> None:
    (whole,), (beginning,) = words_in("한국어"), words_in("한국")
    assert whole.startswith(beginning)


def is_like_its_neighbours(character: str) -> bool:
    """Nine of ten code points are unassigned, private or one of the unified ideographs."""
    if unicodedata.category(character) in ("Cn", "Co"):
        return True
    return unicodedata.name(character, "").startswith("CJK UNIFIED IDEOGRAPH-")


@pytest.mark.only("sqlite")
def test_every_character_folds_to_what_folds_to_itself() -> None:
    """Else a text with few strange characters and one with many would be indexed differently."""
    for code in range(0x80, 0x110000):
        if code % 50 and is_like_its_neighbours(chr(code)):
            continue
        once = indexable(chr(code))
        assert indexable(once).split() == once.split(), hex(code)
        assert once.lower().split() == indexable(once.lower()).split(), hex(code)


def one_doc(text: str) -> Store:
    store = new_store()
    with store.transaction():
        store.index.add([(7, text)])
    return store


texts = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aZ09_-. éßǅİıΣςﬁ①한修ไᎠꭰ𝚨\u0301\0\ud800🚀\u202e"),
    ),
    max_size=60,
)


def test_the_index_has_the_words_of_any_text_and_no_others(database: str) -> None:
    @settings(
        max_examples=EXAMPLES[database], deadline=None, database=None, derandomize=IS_REPEATABLE
    )
    @given(texts)
    def check(text: str) -> None:
        with one_doc(text) as store:
            words = set(words_in(text))
            assert {word for word, _ in store.index.terms_from("")} == words
            for word in words:
                assert store.index.find(WordQuery(((QueryWord(word),),))) == [7], unicodedata.name(
                    word[0], ""
                )

    check()


@pytest.mark.parametrize(
    ("text", "joints"),
    [
        ("to-do, a-b and A-B", ["ab", "od"]),
        ("--x -- - a--b -", []),
        ("a - b, a- b, -b", []),
        ("2026-07-02", ["60", "70"]),
        ("é-B, ﬁ-①", ["eb", "i1"]),
        ("中-a, a-中, a-İ", ["ai"]),
    ],
)
def test_words_with_a_hyphen_between_them_give_a_joint(text: str, joints: list[str]) -> None:
    assert joints_in(indexable(text)) == [JOINT + joint for joint in joints]


@given(texts, st.data())
def test_a_text_has_the_joints_of_every_part_of_it(text: str, data: st.DataObject) -> None:
    plain = folded(text)
    start = data.draw(st.integers(0, len(plain)))
    part = plain[start : data.draw(st.integers(start, len(plain)))]
    assert set(joints_in(part)) <= set(joints_in(indexable(text)))


def test_the_index_finds_joints_and_does_not_count_them_as_words(database: str) -> None:
    with one_doc("Schema-build of é-mail\0x-y") as store:
        assert {word for word, _ in store.index.terms_with(["a"])["a"]} == {"schema", "mail"}
        for joint in ("ab", "em", "xy"):
            assert store.index.find(WordQuery(((QueryWord(JOINT + joint),),))) == [7]
        assert not store.index.find(WordQuery(((QueryWord(JOINT + "sb"),),)))
        store.index.drop([7])
        assert not store.index.find(WordQuery(((QueryWord(JOINT + "ab"),),)))


@pytest.mark.parametrize("size", [199, 200, 201, 5_000, 40_001])
def test_a_word_of_any_length_is_found_by_itself_and_by_its_beginning(size: int) -> None:
    word = "a" + "é" * (size - 1)
    with one_doc(f"before {word} after") as store:
        for asked in (word, word[:150], word[:198]):
            (plain,) = words_in(asked)
            assert store.index.find(WordQuery(((QueryWord(plain, is_prefix=True),),))) == [7]
        (plain,) = words_in(word)
        assert store.index.find(WordQuery(((QueryWord(plain),),))) == [7]
        assert [item for item, _ in store.index.terms_with(["eee"])["eee"]] == [plain]


def test_a_doc_that_is_replaced_or_dropped_leaves_nothing() -> None:
    with one_doc("old words") as store:
        store.index.replace(7, "new words")
        assert dict(store.index.terms_from("")) == {"new": 1, "words": 1}
        with store.transaction():
            store.index.add([(11, "gathered")])
            store.index.drop([11, 7])
            store.index.add([(7, "once more")])
        assert dict(store.index.terms_from("")) == {"once": 1, "more": 1}


def test_what_a_failed_transaction_gathered_is_not_there() -> None:
    with one_doc("kept") as store:
        with pytest.raises(RuntimeError), store.transaction():
            store.index.add([(11, "lost")])
            store.index.set_title(3, "lost title")
            store.index.drop([7])
            raise RuntimeError
        assert dict(store.index.terms_from("")) == {"kept": 1}
        assert store.index.title_terms() == []


def test_a_text_with_many_words_is_found_by_each_of_them(monkeypatch) -> None:
    monkeypatch.setattr("session_memory.store.postgres_word_index.PART_BYTES", 60)
    words = [f"word{number}é" for number in range(40)]
    with one_doc(" ".join(words) + " a-b") as store:
        plain = {f"word{number}e" for number in range(40)}
        assert dict(store.index.terms_from("word")) == dict.fromkeys(plain, 1)
        everything = WordQuery(tuple((QueryWord(word),) for word in (*plain, JOINT + "ab")))
        assert store.index.find(everything) == [7]


def test_a_long_text_has_the_same_words_whole_or_in_pieces(monkeypatch) -> None:
    monkeypatch.setattr("session_memory.core.index_words.PIECE", 10)
    text = "one two three-four\tfünf 日本語 six_seven " * 9 + "end"
    assert list(vocabulary(text)) == list(dict.fromkeys(words_in(text)))


@pytest.mark.only("sqlite")
@given(
    st.lists(st.sampled_from([*"aAbB._/ -\\iKſﬁ①İéßΩ修→", "\u0301", "\ud800", "\u200b"])),
    st.sampled_from(["a.b", "a_b", "i", "fi", "1", "k", "s", "ss", "e", "b/a", "a", "é", "修"]),
)
@settings(max_examples=times(150), deadline=None)
def test_a_literal_is_found_as_if_the_whole_text_had_been_folded(
    parts: list[str], literal: str
) -> None:
    text, plain = "".join(parts), folded(literal)
    assert has_folded(text, plain) == (plain in folded(text))
