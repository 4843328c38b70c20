"""Parse a search query into terms and fields.

``webhook`` is a word, ``hook*`` the start of a word, ``*hook*`` a part of a word. ``"two words"``
is a phrase. ``src/auth/tokens.py:42`` and ``snake_case`` must occur exactly so. ``-word`` must not
occur. All terms must be in one event. ``repo:``, ``tool:``, ``file:``… are filters; ``-repo:web``
excludes what the filter matches.
"""

import re

import msgspec

from session_memory.core.index_words import LONGEST, folded, has_folded, joints_in, words_in
from session_memory.store.word_query import QueryWord

FIELDS = (
    *("flavor", "repo", "model", "kind", "tool", "file", "outcome", "since", "until", "branch"),
    *("session", "class", "cmd"),
)
_TERM = re.compile(r'(?P<minus>-)?(?:(?P<field>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<bare>\S+))')
MOST_TERMS = 32
# Fewer letters than this are the beginning of very many words.
SHORT = 3


class Term(msgspec.Struct, frozen=True):
    """One term of a query. ``shown`` is the term as it was typed.

    The index is asked for ``words``. The text must contain ``literal`` exactly, and the words of
    ``phrase`` next to each other; both are None if the index can answer alone. ``is_part``: the
    term may start inside of a word.
    """

    shown: str
    words: tuple[QueryWord, ...]
    literal: str | None = None
    phrase: tuple[str, ...] | None = None
    is_part: bool = False
    is_negative: bool = False

    @property
    def is_plain_word(self) -> bool:
        """Whether it is one whole word, which must occur."""
        is_whole = len(self.words) == 1 and not self.words[0].is_prefix
        return is_whole and not (self.needs_text or self.is_part or self.is_negative)

    @property
    def needs_text(self) -> bool:
        return self.literal is not None or self.phrase is not None

    @property
    def required_words(self) -> tuple[QueryWord, ...]:
        """The entries of the index that every text with this term has: its words and its joints.

        A joint is the pair of characters around a hyphen, such as ``od`` in ``to-do``.
        """
        if self.literal is None:
            return self.words
        words = self.words
        if len(words[-1].text) < SHORT and len(words) > 1 and self.literal.isascii():
            # A text with ``a-b`` has a word that starts with b. Thousands of words do, and to ask
            # the index for all of them is slow. So this word is left out: the text is compared.
            words = words[:-1]
        return words + self.joints

    @property
    def joints(self) -> tuple[QueryWord, ...]:
        return tuple(map(QueryWord, joints_in(self.literal or "")))

    def matches(self, text: str) -> bool:
        """Whether the text contains the term."""
        if self.literal is not None:
            return has_folded(text, self.literal)
        words = words_in(text)
        if self.phrase is not None:
            return _side_by_side(self.phrase, words)
        has = any if self.is_part else all
        return has(_is_among(word, words) for word in self.words)


class Query(msgspec.Struct, frozen=True):
    """A parsed query. ``fields`` are names and values of filters; ``-repo`` excludes a value."""

    terms: tuple[Term, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def positive(self) -> list[Term]:
        return [term for term in self.terms if not term.is_negative]

    @property
    def negative(self) -> list[Term]:
        return [term for term in self.terms if term.is_negative]


def parse(text: str) -> Query:
    """Parse a query. This never fails: text that is no operator is a word."""
    terms: list[Term] = []
    fields: list[tuple[str, str]] = []
    for found in _TERM.finditer(text):
        field, quoted, bare = found["field"], found["quoted"], found["bare"]
        if field and field not in FIELDS:
            # The colon belongs to a path, an address or a time.
            whole = found[0].removeprefix("-") if found["minus"] else found[0]
            field, quoted, bare = None, None, whole
        value = quoted if quoted is not None else bare or ""
        if field and field != "cmd":
            fields.append((f"{found['minus'] or ''}{field}", value))
            continue
        if field == "cmd":
            fields.append(("class", "call"))
        term = _phrase(value) if quoted is not None else _bare(value)
        if term is not None:
            terms.append(msgspec.structs.replace(term, is_negative=bool(found["minus"])))
    return Query(tuple(terms[:MOST_TERMS]), tuple(fields))


def _phrase(text: str) -> Term | None:
    words = words_in(text)
    if not words:
        return None
    asked = tuple(QueryWord(word) for word in words)
    return Term(f'"{text}"', asked, phrase=tuple(words) if len(words) > 1 else None)


def _bare(text: str) -> Term | None:
    begins, ends = text.startswith("*"), text.endswith("*")
    core = text.strip("*")
    words = words_in(core)
    if not words:
        return None
    if len(words) > 1:
        # An identifier or a path of several words. The last word may be the start of a longer one.
        pieces = (*(QueryWord(word) for word in words[:-1]), QueryWord(words[-1], is_prefix=True))
        return Term(text, pieces, literal=folded(core), is_part=begins)
    return Term(text, (QueryWord(words[0], is_prefix=ends),), is_part=begins)


def _is_among(positive: QueryWord, words: list[str]) -> bool:
    if positive.is_prefix or len(positive.text) >= LONGEST:
        return any(word.startswith(positive.text) for word in words)
    return positive.text in words


def _side_by_side(phrase: tuple[str, ...], words: list[str]) -> bool:
    first, size = phrase[0], len(phrase)
    return any(
        word == first and tuple(words[place : place + size]) == phrase
        for place, word in enumerate(words)
    )
