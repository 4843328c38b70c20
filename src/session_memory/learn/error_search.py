"""Find errors of earlier sessions that share words with a question.

The index gives the sessions whose errors have the rarest words of the question. Then each error of
these sessions is scored. Words in the error's own line count most. Words in the lines around it
count less, then those of the failed call, and then those of what resolved the error.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection
from heapq import nsmallest

from session_memory.learn.digest import ErrorSnippet
from session_memory.learn.digest.error_terms import LONGEST, error_fields
from session_memory.search.question import concepts_in
from session_memory.search.recall_terms import ERROR_MARK, TermCounter, terms_in
from session_memory.store.recall import Recall
from session_memory.store.store import Store

MOST_TERMS = 40
# To find sessions, terms are looked up in the index, rarest first, up to this many rows: more rows
# take too long. The first term that finds a session is always looked up. The remaining terms count
# only in the final score.
MOST_ROWS = 40_000
# If sessions of some repositories come first, this many times as many sessions are ranked as asked
# for, so that enough of them are of these repositories.
LOOKED_AT = 4
FROM_OTHERS = 5
_WEIGHTS = (3.0, 1.2, 1.0, 0.8)
_SATURATION = 1.5
_LEAST = 0.25
_UNKNOWN = 0.5
_MOST_TIMES = 3
_LENGTH = 0.3
_USUAL_LENGTH = 14
_FEW_WORDS = {1: 0.5, 2: 0.8}
_WORD = re.compile(r"[a-z][\w-]+")
# A question of at most this many terms also matches synonyms, because a short description may call
# things by other names than the error.
_MOST_SAID = 12
_SYNONYM = 0.4
_KNOWN = {"certain": 1.2, "likely": 1.15, "possible": 1.05, "": 1.0}
_WEAK = {"again": 0.8, "look": 0.85}
_UNRESOLVED = 0.6
_NUMBER_BITS = 40
_NUMBER = (1 << _NUMBER_BITS) - 1


class ErrorQuestion:
    """The words of a question, and how rare each word is among the errors of all sessions."""

    def __init__(self, store: Store, text: str) -> None:
        self._recall = Recall(store.db)
        self._sessions = self._recall.count()
        asked = list(dict.fromkeys(terms_in(text[:LONGEST])))
        self._used = {term: self._recall.count_of(f"{ERROR_MARK}{term}") for term in asked}
        rarity = {term: self._rarity(used) for term, used in self._used.items()}
        kept = sorted(rarity, key=lambda term: (-rarity[term], term))[:MOST_TERMS]
        self._terms = {term: rarity[term] for term in kept}
        self._counter = TermCounter(self._terms)
        self._whole = sum(self._terms.values())
        # One word alone says little: many errors have it. A name such as AssertionError is one
        # word, but three terms.
        self._share = _FEW_WORDS.get(min(len(self._terms), _words_in(text)), 1.0)
        self._others = _other_words(text) if len(self._terms) <= _MOST_SAID else {}

    def _rarity(self, used: int) -> float:
        """Return how much a term counts, given the number of sessions whose errors have it.

        The fewer sessions have a term, the more it counts. A term that no error has counts half,
        because the errors may use another word for it.
        """
        others = max(self._sessions - used, 0)
        rarity = max(math.log(1 + (others + 0.5) / (used + 0.5)), _LEAST)
        return rarity if used else rarity * _UNKNOWN

    def sessions(self, most: int, repos: Collection[str] | None = None) -> list[str]:
        """Return the uids of sessions whose errors have the rarest words of the question.

        At most ``most`` are returned, the best first. With ``repos``, sessions of these
        repositories come first. Other sessions fill the list up to ``most``, but at least
        `FROM_OTHERS` of them are added if so many match.
        """
        scores: dict[int, float] = defaultdict(float)
        rows = 0
        for term in sorted(self._terms, key=lambda term: (self._used[term], term)):
            rows += self._used[term]
            if rows > MOST_ROWS and scores:
                break
            for number, _ in self._recall.of_term(f"{ERROR_MARK}{term}"):
                scores[number] += self._terms[term]
        looked_at = most * (2 if repos is None else LOOKED_AT)
        best = _best(scores, looked_at)
        places = self._recall.places(best)
        # A session's number depends on the order of analysis, so equal scores are ordered by uid.
        ranked = sorted(
            (-round(scores[number], 6), *places[number]) for number in best if number in places
        )
        if repos is None:
            return [uid for _, uid, _ in ranked[:most]]
        own = [uid for _, uid, repo in ranked if repo in repos]
        others = [uid for _, uid, repo in ranked if repo not in repos]
        return [*own[:most], *others[: max(most - len(own), FROM_OTHERS)]]

    def own_share(self, error: ErrorSnippet) -> float:
        """Return the share of the question's terms that are in the error's own line (0 to 1).

        The share is computed twice: once rare terms count more, once all terms count the same. The
        higher share is returned. If most sessions have an error, all its terms are frequent.
        """
        own = set(terms_in(error.sample[:LONGEST]))
        shared = [rarity for term, rarity in self._terms.items() if term in own]
        return max(sum(shared) / self._whole, len(shared) / len(self._terms))

    def likeness(self, error: ErrorSnippet) -> float:
        """Return how well an error matches the question, from 0 to 1. Rare terms count more."""
        if not self._whole:
            return 0.0
        sample, *beside = (text[:LONGEST] for text in error_fields(error))
        fields = [Counter(terms_in(sample)), *map(self._counter.counts, beside)]
        longer = 1 - _LENGTH + _LENGTH * sum(fields[0].values()) / _USUAL_LENGTH
        found = 0.0
        for term, rarity in self._terms.items():
            count = min(fields[0][term], _MOST_TIMES) * _WEIGHTS[0] / longer
            count += sum(
                weight * min(field[term], _MOST_TIMES)
                for weight, field in zip(_WEIGHTS[1:], fields[1:], strict=True)
            )
            if count:
                found += rarity * count * (1 + _SATURATION / _WEIGHTS[0]) / (count + _SATURATION)
            elif not fields[0].keys().isdisjoint(self._others.get(term, ())):
                found += rarity * _SYNONYM
        return min(self._share * found / self._whole, 1.0)


def _words_in(text: str) -> int:
    """Return the number of different words of a question; a high number if it is not ASCII.

    Not every script has blanks between its words.
    """
    text = text[:LONGEST].lower()
    return len(set(_WORD.findall(text))) if text.isascii() else LONGEST


def _best(scores: dict[int, float], most: int) -> list[int]:
    """Return the ``most`` session numbers with the highest scores.

    Of equal scores, the smaller number comes first. A question may match all of 10,000 sessions.
    So each score is joined with its number into one integer, because integers compare faster than
    pairs.
    """
    keys = ((-round(score * 1e6) << _NUMBER_BITS) + number for number, score in scores.items())
    return [key & _NUMBER for key in nsmallest(most, keys)]


def _other_words(text: str) -> dict[str, frozenset[str]]:
    """Map each term of a question in one line to its synonyms.

    A question of several lines is a pasted output: it gets no synonyms.
    """
    if "\n" in text.strip():
        return {}
    return {one.term: frozenset(one.others) for one in concepts_in(text[:LONGEST])}


def usefulness(error: ErrorSnippet) -> float:
    """Return a factor for the score of an error: how useful its resolution is to a reader."""
    how = error.resolution
    if how is None:
        return _UNRESOLVED
    return _WEAK.get(how.kind, 1.0) * _KNOWN.get(how.certainty, 1.0)
