"""Split texts into the terms by which sessions are found. Sessions and questions use the same rule.

A term is the stem of a word. An identifier gives the terms of its parts and one for the whole:
``parseUserId`` gives ``pars``, ``user``, ``id`` and ``parseuserid``. In scripts without blanks
between words, every two neighbouring characters are a term. Words such as "the" and "how" are no
terms.
"""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.search.stems import forms_of, is_irregular, stem

LONGEST = 40
ERROR_MARK = "!"
"""The prefix of terms of errors in the index. No term contains it, so all other terms differ."""
BEGINNING = 3
"""A stem and its word have this many first letters in common, except for irregular verbs."""
_SAME_LETTERS = 2
TRUNCATED = 6
# Han, kana, Hangul, Thai, Lao, Myanmar and Khmer.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_UNSPACED_RANGES = tuple(zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True))
_TOKEN = lazy_pattern(rf"\d+(?:\.\d+)+|[{_UNSPACED}]+|[^\W{_UNSPACED}]+(?:[-'’][^\W{_UNSPACED}]+)*")
# A token of a text in ASCII. This pattern is several times as fast.
_ASCII_TOKEN = lazy_pattern(r"\d+(?:\.\d+)+|\w+(?:[-']\w+)*", re.ASCII)
_PART = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINER = lazy_pattern(r"[-'’]")
_ACCENTS = lazy_pattern("[\u0300-\u036f]+")
# Ids and hashes of one session say nothing about another one.
_NUMBER = lazy_pattern(r"\d{6,}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}")
_FILLERS = """
    a about again all also am an and any are as at be because been before being both but by can
    could did do does doing done each for from get gets got had has have having he her here him his
    how i if in into is it its just let lets me more most my no not now of off on only or other our
    out own please s same she should so some such t than that the their them then there these they
    this those to too under until up us use used uses using very via was way we were what when
    where which while who whom whose why will with would you your make makes made making
    im ive dont doesnt didnt cant wont isnt thats whats lets don doesn didn isn won ll re ve
"""
FILLERS = frozenset(_FILLERS.split())
# Question words and pronouns in Chinese and Japanese.
_FILLING_PAIRS = """
    如何 怎么 怎样 么样 我们 什么 为何 为什 是什 哪些 这个 那个 一个 可以
    どう どの です ます した こと この その
"""
FILLING_PAIRS = frozenset(_FILLING_PAIRS.split())


def terms_in(text: str) -> list[str]:
    """Return every term of a text, in order."""
    return list(chain.from_iterable(map(_token_terms, _tokens(text))))


def count_terms(text: str) -> dict[str, int]:
    """Count how often each term occurs in a text."""
    return Counter(chain.from_iterable(map(_token_terms, _tokens(text))))


class TermCounter:
    """Counts given terms in many texts. It is fast, because it skips words that cannot have one."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._beginnings = frozenset(term[:_SAME_LETTERS] for term in terms)

    def counts(self, text: str) -> Counter[str]:
        """Count how often each of the terms occurs in a text. Other terms may be counted, too."""
        some = filter(self._may_have_term, _tokens(text))
        return Counter(chain.from_iterable(map(_token_terms, some)))

    def _may_have_term(self, token: str) -> bool:
        # The beginnings of a word and its stem may differ if the word begins with y or is an
        # irregular verb: "brought" has the stem of "bring".
        return (
            token[:_SAME_LETTERS] in self._beginnings
            or token[0] in self._beginnings
            or token[0] == "y"
            or not (token.islower() and token.isascii() and token.isalpha())
            or is_irregular(token)
        )


def _tokens(text: str) -> list[str]:
    if not text.isascii():
        try:
            # Most of these texts have only a few signs, or letters with accents.
            text = text.encode("ascii", _SIGNS).decode()
        except UnicodeEncodeError:
            return _TOKEN.findall(_plain(text))
    return _ASCII_TOKEN.findall(text)


def _sign_texts(error: UnicodeError) -> tuple[str, int]:
    """Replace signs and accented letters by ASCII with the same effect on tokens (a codec handler).

    Other characters raise the error again.
    """
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    if (found := _known_signs(signs)) is None:
        raise error
    return found, error.end


@lru_cache(maxsize=1 << 12)
def _known_signs(signs: str) -> str | None:
    """Return ASCII characters for signs and accented letters; None if others are among them."""
    plain = "".join(
        "'" if char == "’" else " " if _is_sign(char) else char for char in _plain(signs)
    )
    return plain if plain.isascii() else None


def _is_sign(char: str) -> bool:
    """Whether a character is not ASCII and never part of a token.

    This check needs no pattern, which would take long to compile.
    """
    is_word = char.isascii() or char.isalnum()
    return not is_word and not any(first <= char <= last for first, last in _UNSPACED_RANGES)


_SIGNS = "session_memory_signs"
codecs.register_error(_SIGNS, _sign_texts)


@lru_cache(maxsize=1 << 15)
def _token_terms(token: str) -> tuple[str, ...]:
    if token.islower() and token.isascii() and token.isalpha():
        # Most words are plain.
        return tuple(_kept(token)) if len(token) <= LONGEST else ()
    if token[0] >= "\u0e00":
        return tuple(_neighbours(token))
    if token[0].isdigit() and "." in token:
        return (token[:LONGEST],)
    return tuple(_word_terms(token))


def may_have(text: str, terms: Iterable[str]) -> bool:
    """Whether a text may have one of these terms. Much faster than making all terms of the text."""
    if not text.isascii():
        return True
    plain = text.lower()
    return any(form[:BEGINNING] in plain for term in terms for form in (term, *forms_of(term)))


def parts_in(text: str) -> set[str]:
    """Return terms that are only parts of identifiers in a text: ``git``, ``hub`` of ``GitHub``."""
    parts: set[str] = set()
    words: set[str] = set()
    for token in _tokens(text):
        for piece in _JOINER.split(token):
            terms = _piece_terms(piece)
            parts.update(terms[:-1])
            words.update(terms[-1:])
    return parts - words


def _plain(text: str) -> str:
    """Return the text without accents and with compatibility forms (``ﬁ``) replaced."""
    apart = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", apart)


def _neighbours(token: str) -> list[str]:
    pairs = [token[at : at + 2] for at in range(len(token) - 1)] or [token]
    return [pair for pair in pairs if pair not in FILLING_PAIRS]


def _word_terms(token: str) -> list[str]:
    pieces = _JOINER.split(token)
    found = [term for piece in pieces for term in _piece_terms(piece)]
    if len(pieces) == 2 and "-" in token and token.replace("-", "").isalpha():
        # "real-time" is found as "realtime", and "re-run" as "rerun".
        found.append(stem("".join(pieces).lower()[:LONGEST]))
    return found


def _piece_terms(piece: str) -> list[str]:
    whole = piece.replace("_", "").lower()
    if len(whole) > LONGEST or _NUMBER.fullmatch(whole):
        return []
    parts = _PART.findall(piece) if piece.isascii() else [whole]
    if len(parts) < 2:
        return _kept(whole)
    found = [term for part in parts for term in _kept(part.lower())]
    return [*found, whole] if len(whole) > 1 else found


def _kept(word: str) -> list[str]:
    if word in FILLERS or (len(word) < 2 and not word.isdigit()) or _NUMBER.fullmatch(word):
        return []
    # Endings of words in other scripts are unknown here, so the first letters stand for all forms.
    return [stem(word) if word.isascii() else word[:TRUNCATED]]
