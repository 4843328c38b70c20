"""Words that contain a part: read from the pages of the index, as the list of words has them."""

import random

import pytest
from effort import IS_REPEATABLE, times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.errors import StoreDamaged
from session_memory.search.expansion import expand_unknown
from session_memory.search.query import parse
from session_memory.store import sqlite_word_index
from session_memory.store.store import Store
from session_memory.testing.collecting import new_store

EXAMPLES = {"sqlite": times(25), "postgresql": times(5)}
PARTS = ["ab", "abc", "bcd", "12", "127", "cabca", "é", "修", "none", "a" * 150]


def every_word_with(store: Store, part: str) -> list[tuple[str, int]]:
    return sorted(one for one in store.index.terms_from("") if part in one[0])


def check(store: Store) -> None:
    found = store.index.terms_with(PARTS)
    assert {part: sorted(words) for part, words in found.items()} == {
        part: every_word_with(store, part) for part in PARTS
    }


word = st.text("abc12é修", min_size=1, max_size=9) | st.sampled_from(["abc" * 100, "a" * 20_000])
texts = st.lists(word, max_size=30).map(" ".join)


def test_words_with_a_part_are_those_of_the_list_of_all_words(database: str) -> None:
    @settings(
        max_examples=EXAMPLES[database], deadline=None, database=None, derandomize=IS_REPEATABLE
    )
    @given(st.lists(st.tuples(st.integers(1, 40), texts), max_size=8))
    def write_and_check(written: list[tuple[int, str]]) -> None:
        with new_store() as store:
            for doc, text in written:
                with store.transaction():
                    store.index.replace(doc, text)
                    check(store)  # What this transaction has written is there as well.
            check(store)

    write_and_check()


@pytest.mark.parametrize("most", [0, 1_000_000])
@pytest.mark.only("sqlite")
def test_a_large_index_is_read_page_by_page(monkeypatch, most: int) -> None:
    monkeypatch.setattr(sqlite_word_index, "MOST_LOOKED_UP", most)
    rng = random.Random(7)
    with new_store() as store:
        for part in range(20):
            with store.transaction():
                docs = range(part * 50, part * 50 + 50)
                store.index.add([(doc, " ".join(_words(rng, 80))) for doc in docs])
                store.index.drop(list(docs)[::7])
            check(store)
        for _ in store.index.merged():
            check(store)
        with store.transaction():
            store.index.drop(list(range(900)))
        for _ in store.index.purged():
            pass
        check(store)


def _words(rng: random.Random, count: int) -> list[str]:
    often = ["abc", "the", "127"]
    return [*often, *("".join(rng.choices("abcd12é", k=rng.randint(2, 7))) for _ in range(count))]


def test_all_parts_of_a_query_are_looked_up_at_once(database: str, monkeypatch) -> None:
    with new_store() as store, store.transaction():
        store.index.add([(7, "verifySignature of x127.0.0.1")])
        asked: list[list[str]] = []
        terms_with = store.index.terms_with
        monkeypatch.setattr(
            store.index, "terms_with", lambda parts: (asked.append(parts), terms_with(parts))[1]
        )
        widened = expand_unknown(store.index, parse("signat 127.0.0.1").terms)
    assert asked == [["127", "signat"]]
    assert widened.words == {"signat": ("verifysignature",), "127.0.0.1": ("x127",)}


@pytest.mark.only("sqlite")
def test_a_damaged_page_is_reported(database: str) -> None:
    with new_store() as store:
        store.index.add([(7, "verifySignature and others")])
        broken = "update words_data set block = x'0000ffff' where id > 10"
        store.db.execute(broken)
        with pytest.raises(StoreDamaged):
            store.index.terms_with(["signat"])
        store.db.execute("update words_data set block = x'000000047f7f7f' where id > 10")
        with pytest.raises(StoreDamaged):
            store.index.terms_with(["signat"])
