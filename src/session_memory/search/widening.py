"""Terms that stand for several words: parts of words, and words that nobody uses as they are."""

from collections.abc import Callable, Sequence

import msgspec

from session_memory.search.query import Term
from session_memory.store.index import WordIndex
from session_memory.store.word_query import QueryWord, WordQuery

MOST_WORDS = 1000
"""So many words that contain a part are asked for; the most frequent ones."""


class Widened(msgspec.Struct, frozen=True):
    """``words`` says for which term which words were taken; ``is_cut`` that there are more."""

    terms: tuple[Term, ...]
    words: dict[str, tuple[str, ...]]
    is_cut: bool = False


def with_parts(index: WordIndex, terms: Sequence[Term]) -> Widened:
    """Terms that may begin inside a word: every word of the index that has them."""
    return _widened(index, terms, lambda term: term.is_part)


def with_likely(index: WordIndex, terms: Sequence[Term]) -> Widened:
    """Also terms whose first word nobody uses as it is, or that may begin inside of one."""

    def is_unknown(term: Term) -> bool:
        if term.is_part:
            return True
        if term.is_negative or term.phrase or len(term.words[0].text) < 2:
            return False
        return term.literal is not None or not index.count(WordQuery((term.words[:1],)))

    return _widened(index, terms, is_unknown)


def _widened(index: WordIndex, terms: Sequence[Term], is_wide: Callable[[Term], bool]) -> Widened:
    ready: list[Term] = []
    told: dict[str, tuple[str, ...]] = {}
    is_cut = False
    for term in terms:
        if not is_wide(term):
            ready.append(term)
            continue
        found = sorted(index.terms_with(term.words[0].text), key=lambda word: (-word[1], word[0]))
        words = tuple(word for word, _ in found[:MOST_WORDS])
        told[term.shown] = words
        too_many = len(found) > MOST_WORDS
        is_cut = is_cut or too_many
        ready.append(_any_of(term, words, too_many))
    return Widened(tuple(ready), told, is_cut)


def _any_of(term: Term, words: Sequence[str], too_many: bool) -> Term:
    """Any of ``words`` instead of the first word of the term."""
    one_of = tuple(QueryWord(word) for word in words)
    # What must not be there is looked for in the texts, where a list of words would miss some.
    literal = term.words[0].text if term.is_negative and too_many else None
    return msgspec.structs.replace(
        term, words=one_of, is_part=True, literal=term.literal or literal
    )
