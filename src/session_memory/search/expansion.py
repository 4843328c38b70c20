"""Expand search terms to words of the index: parts of words, and words the index does not have."""

from collections.abc import Callable, Sequence

import msgspec

from session_memory.core.index_words import LONGEST
from session_memory.search.query import Term
from session_memory.store.index import WordIndex
from session_memory.store.word_query import QueryWord, WordQuery

MOST_WORDS = 1000
"""A part is expanded to at most this many words, the most frequent ones."""
MOST_BEGUN = 12


class ExpandedTerms(msgspec.Struct, frozen=True):
    """Search terms, some of them replaced by words of the index.

    ``words`` maps each replaced term, as it was typed, to these words. ``is_cut``: the index has
    more such words, which are not searched.
    """

    terms: tuple[Term, ...]
    words: dict[str, tuple[str, ...]]
    is_cut: bool = False


def expand_parts(index: WordIndex, terms: Sequence[Term]) -> ExpandedTerms:
    """Expand terms such as ``*hook*`` to the words of the index that contain them."""
    return _expanded(index, terms, lambda term: term.is_part)


def expand_unknown(index: WordIndex, terms: Sequence[Term]) -> ExpandedTerms:
    """Expand terms such as ``*hook*``, terms whose word is not in the index, and exact texts.

    They are expanded to the words of the index that contain their first word.
    """

    def is_unknown(term: Term) -> bool:
        if term.is_part:
            return True
        if term.is_negative or term.phrase or len(term.words[0].text) < 2:
            return False
        if term.literal is None:
            return not index.count(WordQuery((term.words[:1],)))
        # An exact text may start inside of a word. All of its other words must be in the index.
        others = tuple((word,) for word in term.required_words[1:])
        return bool(index.find(WordQuery(others), limit=1)) if others else True

    return _expanded(index, terms, is_unknown)


def expand_beginning(index: WordIndex, terms: Sequence[Term]) -> ExpandedTerms:
    """Expand the last term to words that begin with it, because it may not be typed to its end."""
    last = terms[-1] if terms else None
    if last is None or not last.is_plain_word:
        return ExpandedTerms(tuple(terms), {})
    words = index.beginning(last.words[0].text, MOST_BEGUN)
    if not words:
        return ExpandedTerms(tuple(terms), {})
    begun = msgspec.structs.replace(last, words=words, is_part=True)
    shown = tuple(word.text for word in words)
    return ExpandedTerms((*terms[:-1], begun), {last.shown: shown}, is_cut=True)


def _expanded(
    index: WordIndex, terms: Sequence[Term], needs_words: Callable[[Term], bool]
) -> ExpandedTerms:
    ready: list[Term] = []
    replaced: dict[str, tuple[str, ...]] = {}
    is_cut = False
    chosen = [needs_words(term) for term in terms]
    parts = {term.words[0].text for term, is_chosen in zip(terms, chosen, strict=True) if is_chosen}
    known = index.terms_with(sorted(parts))
    for term, is_chosen in zip(terms, chosen, strict=True):
        if not is_chosen:
            ready.append(term)
            continue
        words_with = _possible(term, known[term.words[0].text])
        found = sorted(words_with, key=lambda word: (-word[1], word[0]))
        words = tuple(word for word, _ in found[:MOST_WORDS])
        replaced[term.shown] = words
        too_many = len(found) > MOST_WORDS
        is_cut = is_cut or too_many
        ready.append(_any_of(term, words, too_many))
    return ExpandedTerms(tuple(ready), replaced, is_cut)


def _possible(term: Term, words: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return those of ``words`` in which the term can begin. All contain the term's first word.

    An exact text such as ``a-b`` can only begin in a word that ends with ``a``, because the
    separator follows. The index cuts very long words, so those are returned as well.
    """
    if term.literal is None:
        return words
    text = term.words[0].text
    return [one for one in words if one[0].endswith(text) or len(one[0]) >= LONGEST]


def _any_of(term: Term, words: Sequence[str], too_many: bool) -> Term:
    """Return the term with any of ``words`` in place of its first word."""
    one_of = tuple(QueryWord(word) for word in words)
    # The list of words is cut, so a negative term has to be compared with the texts themselves.
    literal = term.words[0].text if term.is_negative and too_many else None
    return msgspec.structs.replace(
        term, words=one_of, is_part=True, literal=term.literal or literal
    )
