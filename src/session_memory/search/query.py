"""What a person asks for, as terms that the index can answer and texts that have to be compared.

``webhook`` is a word; ``hook*`` the beginning of one and ``*hook*`` any part; ``"two words"`` stand
side by side; ``src/auth/tokens.py:42`` or ``snake_case`` stand so in the text; ``-word`` is not
there. All terms have to be in one event. ``repo:``, ``tool:``, ``file:``… narrow it down.
"""

import re

import msgspec

from session_memory.core.index_words import LONGEST, folded, words_in
from session_memory.store.word_query import QueryWord

FIELDS = (
    *("flavor", "repo", "model", "kind", "tool", "file", "outcome", "since", "until", "branch"),
    *("session", "class", "cmd"),
)
_TERM = re.compile(r'(?P<minus>-)?(?:(?P<field>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<bare>\S+))')
MOST_TERMS = 32


class Term(msgspec.Struct, frozen=True):
    """``words`` are what the index is asked for; ``literal`` is what the text must contain and
    ``phrase`` what must stand there as whole words side by side, where words alone do not tell."""

    shown: str
    words: tuple[QueryWord, ...]
    literal: str | None = None
    phrase: tuple[str, ...] | None = None
    is_part: bool = False
    is_negative: bool = False

    @property
    def needs_text(self) -> bool:
        return self.literal is not None or self.phrase is not None

    def stands_in(self, text: str) -> bool:
        """Whether the term is in a text, by the letter."""
        if self.literal is not None:
            return self.literal in folded(text)
        words = words_in(text)
        if self.phrase is not None:
            return _side_by_side(self.phrase, words)
        has = any if self.is_part else all
        return has(_is_among(word, words) for word in self.words)


class Query(msgspec.Struct, frozen=True):
    terms: tuple[Term, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def wanted(self) -> list[Term]:
        return [term for term in self.terms if not term.is_negative]

    @property
    def unwanted(self) -> list[Term]:
        return [term for term in self.terms if term.is_negative]


def parse(text: str) -> Query:
    """Never fails: what is no operator is a word."""
    terms: list[Term] = []
    fields: list[tuple[str, str]] = []
    for found in _TERM.finditer(text):
        field, quoted, bare = found["field"], found["quoted"], found["bare"]
        if field and field not in FIELDS:
            # A path, an address or a time, not one of our fields.
            whole = found[0].removeprefix("-") if found["minus"] else found[0]
            field, quoted, bare = None, None, whole
        value = quoted if quoted is not None else bare or ""
        if field and field != "cmd":
            fields.append((field, value))
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
        # In pieces, as an identifier or a path: the last piece may go on, and it stands there so.
        pieces = (*(QueryWord(word) for word in words[:-1]), QueryWord(words[-1], is_prefix=True))
        return Term(text, pieces, literal=folded(core), is_part=begins)
    return Term(text, (QueryWord(words[0], is_prefix=ends),), is_part=begins)


def _is_among(wanted: QueryWord, words: list[str]) -> bool:
    if wanted.is_prefix or len(wanted.text) >= LONGEST:
        return any(word.startswith(wanted.text) for word in words)
    return wanted.text in words


def _side_by_side(phrase: tuple[str, ...], words: list[str]) -> bool:
    first, size = phrase[0], len(phrase)
    return any(
        word == first and tuple(words[place : place + size]) == phrase
        for place, word in enumerate(words)
    )
