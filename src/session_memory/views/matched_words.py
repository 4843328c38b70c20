"""Explain why a session was found: the words that matched, their place, and the best sentence."""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import msgspec

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import one_line
from session_memory.learn.digest import Digest
from session_memory.learn.recall import RecalledSession
from session_memory.redact import mask_cut
from session_memory.search.recall_terms import may_have, terms_in
from session_memory.search.synonyms import word_of

MOST_WORDS = 6
LONGEST_EXCERPT = 240
_WORD = lazy_pattern(r"\w[\w'’-]*(?:\.\d+)*")
_CHARACTERS = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_PAIR = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
_ENDING = lazy_pattern(r"[\u3040-\u309f]+")
_LINE = lazy_pattern(r"[^\n]+")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+|(?<=[。！？])")


class MatchedWord(msgspec.Struct, frozen=True):
    """A word of the question. ``found`` is the word of the session, which may be a synonym, and
    ``fields`` are the texts with it: title, prompt, commit, file, plan, answer, …"""

    asked: str
    found: str
    fields: list[str]

    def __str__(self) -> str:
        word = self.found if self.found == self.asked else f"{self.found} (for {self.asked})"
        return f"{word}: {', '.join(self.fields)}"


class Excerpt(msgspec.Struct, frozen=True):
    """The sentence of a session that fits the question best. ``field`` is the text it is from,
    such as ``prompt`` or ``answer``."""

    field: str
    text: str


def matched_words(question: str, one: RecalledSession) -> list[MatchedWord]:
    """Return the words by which a session matched ``question``, the most important first."""
    asked, matches = words_by_term([question]), one.matches[:MOST_WORDS]
    others = {match.term for match in matches if match.term not in asked}
    found = words_by_term((text for _, text in _texts(one.digest)), others) if one.digest else {}
    return [
        MatchedWord(
            asked.get(match.asked, match.asked),
            asked.get(match.term) or found.get(match.term) or word_of(match.term),
            match.fields,
        )
        for match in matches
    ]


def joined_pairs(words: Iterable[str]) -> list[str]:
    """Join pairs of neighbouring characters to the words that they are cut from.

    Texts in Chinese, Japanese and Korean are searched by such pairs: 期限, 限切 and 切れ become
    期限切れ. A result of hiragana alone is left out, because it only links words. Other words stay.
    """
    joined: list[str] = []
    for word in dict.fromkeys(words):
        if not _PAIR.fullmatch(word):
            joined.append(word)
        else:
            for other in [one for one in joined if _CHARACTERS.fullmatch(one)]:
                if other[-1] == word[0] or word[-1] == other[0]:
                    joined.remove(other)
                    word = other + word[1:] if other[-1] == word[0] else word + other[1:]
            joined.append(word)
    return [word for word in joined if not _ENDING.fullmatch(word)]


def best_excerpt(one: RecalledSession) -> Excerpt | None:
    """Return the sentence of a session with the most important words of the question.

    None if only its title, commits or files have such words, or if the session was not analyzed.
    """
    if one.digest is None:
        return None
    scores = {match.term: match.score for match in one.matches}
    known = set(terms_in(one.digest.title or ""))
    best, best_score = None, 0.0
    for field, text in _texts(one.digest):
        # The title and the commits are shown anyway, so no excerpt is taken from them.
        for sentence in _sentences(text) if field not in ("title", "commit") else ():
            if not may_have(sentence, scores):
                continue
            terms = set(terms_in(sentence))
            score = sum(scores.get(term, 0.0) for term in terms)
            if score > best_score * 1.001 and not terms <= known:
                best, best_score = Excerpt(field, sentence), score
    if best is None:
        return None
    plain = best.text.strip(" #*->|").replace("**", "").replace("`", "")
    return Excerpt(best.field, mask_cut(one_line(plain, LONGEST_EXCERPT)))


def _texts(digest: Digest) -> Iterator[tuple[str, str]]:
    yield "title", digest.title or ""
    for one in digest.commits:
        yield "commit", one.text
    for one in (*([digest.first_request] if digest.first_request else []), *digest.prompts):
        yield "prompt", one.text
    for one in digest.plans:
        yield "plan", one.text
    for one in digest.decisions:
        yield "decision", one.text
    if digest.last_answer is not None:
        yield "answer", digest.last_answer.text


def _sentences(text: str) -> Iterator[str]:
    for line in _LINE.findall(text):
        yield from (part for part in _SENTENCE_END.split(line) if part.strip())


def words_by_term(texts: Iterable[str], wanted: Collection[str] | None = None) -> dict[str, str]:
    """Map each term to the shortest word with that term, in lower case. A term of a word with
    letters beyond ASCII is mapped to itself.

    With ``wanted``, only these terms are in the result.
    """
    found: dict[str, str] = {}
    if wanted is not None and not wanted:
        return found
    for text in texts:
        if wanted is not None and not may_have(text, wanted):
            continue
        for word in _WORD.findall(text):
            for term in _terms_of(word):
                # In a script without blanks a term is two characters, not a part of a word.
                shown = word.lower() if word.isascii() else term
                if term not in found or len(shown) < len(found[term]):
                    found[term] = shown
    return found


@lru_cache(maxsize=1 << 13)
def _terms_of(word: str) -> tuple[str, ...]:
    return tuple(terms_in(word))
