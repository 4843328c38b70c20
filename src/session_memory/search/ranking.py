"""Rank sessions by how well they answer a question (BM25F).

A word of the question counts for a session that has it or a synonym. Words that few sessions have
count more. The texts of subagents count for the session that started them. Outcome and age do not
matter here.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING

import msgspec

from session_memory import redact
from session_memory.search.question import Concept
from session_memory.search.recall_fields import FIELDS, fields_of, packed_weight, weight_of
from session_memory.search.recall_terms import ERROR_MARK, terms_in
from session_memory.store.recall import Recall

if TYPE_CHECKING:
    from session_memory.store.store import Store


SATURATION = 8.0
"""A term with this weight counts half of what it can count at most."""
SYNONYM = 0.6
NAME = 0.9
SUBAGENT = 0.5
# A subagent whose parent session is not in the store is ranked by itself. It counts less, because
# it did only a part of the work.
ORPHAN = 0.6
MOST_CONCEPTS = 32
# The rarest words are looked up in all sessions until they have this many rows in the index. More
# would take too long. The other words are looked up only for the best sessions.
MOST_ROWS = 20_000
CANDIDATES = 200
MOST_TITLES = 2_000
MOST_LEFT_OUT = 50
EVERY_OTHER, LEAST_SESSIONS = 0.5, 3


# The score of a term in a session, the term, and the bits of the fields where it stands.
_Best = tuple[float, str, int]


class TermMatch(msgspec.Struct, frozen=True):
    """A word of the question that a session has. ``term`` differs from ``asked`` for a synonym.

    ``fields`` say where the session has it (title, files, …).
    """

    asked: str
    term: str
    fields: list[str]
    score: float


class RankedSession(msgspec.Struct, frozen=True):
    """A session with its score. ``fit`` is the score as a share (0 to 1) of the highest possible.

    ``matches`` are the words of the question that the session has.
    """

    uid: str
    score: float
    fit: float
    matches: list[TermMatch]


def concepts_of(terms: Mapping[str, int]) -> list[Concept]:
    """Turn the stored terms of a session into a question for similar sessions."""
    # Numbers are left out: two sessions that ran 1,329 tests may have nothing else in common.
    own = {
        term: packed
        for term, packed in terms.items()
        if not term.startswith(ERROR_MARK) and not term.isdigit()
    }
    weights = {term: weight_of(packed) for term, packed in own.items()}
    shares = {term: weight / (SATURATION + weight) for term, weight in weights.items()}
    return [Concept(term, share, most=share) for term, share in shares.items()]


def rank(
    store: "Store",
    concepts: Sequence[Concept],
    *,
    most_concepts: int = MOST_CONCEPTS,
    repo: str | None = None,
    only: Collection[str] | None = None,
    without: Iterable[str] = (),
) -> list[RankedSession]:
    """Return the sessions that match the concepts best, best first, at most `CANDIDATES`.

    With ``repo`` or ``only`` (uids), only these sessions are ranked; ``without`` are uids to leave
    out. Of more than ``most_concepts`` concepts, only those that count most are used.
    """
    left_out = set(without)
    ranking = _Ranking(Recall(store.db), concepts, most_concepts, repo, only, left_out)
    return ranking.sessions(left_out)


class _Ranking:
    """Ranks sessions for one question.

    Sessions are known by their number in the index. Those that were never analyzed have negative
    numbers, and only their titles are compared.
    """

    def __init__(
        self,
        recall: Recall,
        concepts: Sequence[Concept],
        most: int,
        repo: str | None,
        only: Collection[str] | None,
        left_out: Collection[str],
    ) -> None:
        self._recall, self._left_out = recall, left_out
        self._allowed = None if repo is None else recall.of_repo(repo)
        if only is not None:
            self._allowed = set(recall.numbers(list(only)).values())
        self._owners = _owners(recall.subagents())
        titles = recall.absent_titles(MOST_TITLES, repo)
        self._titles = [one for one in titles if only is None or one[0] in only]
        self._by_title = _title_postings(self._titles)
        self._sessions = max(recall.count() + len(self._titles), 1)
        terms = {term for one in concepts for term in (one.term, *one.others)}
        self._used = {term: self._count(term) for term in terms}
        self._concepts = self._most_telling(concepts, most)
        self._found: list[tuple[Concept, dict[int, _Best]]] = []
        self._scores: dict[int, float] = {}

    def sessions(self, without: set[str]) -> list[RankedSession]:
        frequent, rows = [], 0
        for concept in self._concepts:
            size = sum(self._used[term] for term in (concept.term, *concept.others))
            if rows + size > MOST_ROWS and self._scores:
                frequent.append(concept)
            else:
                rows += size
                self._add(concept, None)
        best = self._best()
        for concept in frequent:
            self._add(concept, best)
        return self._results(without)

    def _count(self, term: str) -> int:
        return self._recall.count_of(term) + len(self._by_title.get(term, ()))

    def _most_telling(self, concepts: Sequence[Concept], most: int) -> list[Concept]:
        """Return the concepts to use, the rarest first. A short question keeps all its words."""
        if len(concepts) > most:
            own = self._own_uses()
            known = [one for one in concepts if self._used[one.term] > own[one.term]]
            known.sort(key=lambda one: (-one.share * self._rarity(one.term), one.term))
            concepts = known[:most]
        return sorted(concepts, key=lambda one: (self._used[one.term], one.term))

    def _own_uses(self) -> Counter[str]:
        """Count how many of the sessions that are left out have each term.

        A term that no other session has finds nothing, such as a name in a pasted log.
        """
        uids = sorted(self._left_out)[:MOST_LEFT_OUT]
        return Counter(term for uid in uids for term in self._recall.terms_of(uid) or ())

    def _rarity(self, term: str) -> float:
        used = self._used[term]
        return math.log(1 + max(self._sessions - used + 0.5, 0.5) / (used + 0.5))

    def _add(self, concept: Concept, only: list[int] | None) -> None:
        """Add the score of a concept to the sessions that have one of its terms.

        In each session the term with the highest score counts. With ``only``, other sessions are
        left out.
        """
        best: dict[int, _Best] = {}
        rarity = self._rarity(concept.term)
        for term in (concept.term, *concept.others):
            if not self._used[term]:
                continue
            value = rarity * concept.share
            if term != concept.term:
                # A rare synonym must not count more than the word itself.
                own = self._rarity(term)
                share = NAME if term in concept.names else SYNONYM
                value = share * (min(own, rarity) if self._used[concept.term] else own)
            for number, (weight, places) in self._weights(term, only).items():
                score = value * weight / (SATURATION + weight)
                known = best.get(number)
                if known is None or score > known[0]:
                    best[number] = (score, term, places)
        scores, owners = self._scores, self._owners
        for number, (score, _, _) in best.items():
            share = ORPHAN if owners.get(number) == number else 1.0
            scores[number] = scores.get(number, 0.0) + share * score
        self._found.append((concept, best))

    def _weights(self, term: str, only: list[int] | None) -> dict[int, tuple[float, int]]:
        """Return the weight of a term in each session, and the bits of the fields that have it.

        The texts of a session's subagents count for the session, with less weight.
        """
        if only is None:
            rows = self._recall.of_term(term)
        else:
            rows = self._recall.weights(term, [number for number in only if number >= 0])
        found: dict[int, tuple[float, int]] = {}
        owners = self._owners
        for number, packed in (*rows, *self._by_title.get(term, ())):
            weight = weight_of(packed)
            owner = owners.get(number, number)
            if owner == number and number not in found:
                found[number] = (weight, packed)
                continue
            before, places = found.get(owner, (0.0, 0))
            share = 1.0 if owner == number else SUBAGENT
            found[owner] = (before + share * weight, places | packed)
        return found

    def _best(self) -> list[int]:
        scores, allowed = self._scores, self._allowed
        numbers = (one for one in scores if allowed is None or one < 0 or one in allowed)
        return nsmallest(CANDIDATES, numbers, key=lambda number: (-scores[number], number))

    def _results(self, without: set[str]) -> list[RankedSession]:
        best = self._best()
        uids = self._recall.uids([number for number in best if number >= 0])
        uids |= {-1 - place: uid for place, (uid, _) in enumerate(self._titles)}
        most = sum(self._rarity(one.term) * one.share * one.most for one in self._concepts)
        found = [
            RankedSession(
                uids[number],
                round(self._scores[number], 4),
                round(min(self._scores[number] / most, 1.0), 4) if most else 0.0,
                self._matches(number),
            )
            for number in best
            if number in uids and uids[number] not in without and self._is_told_apart(number)
        ]
        return sorted(found, key=lambda one: (-one.score, one.uid))

    def _is_told_apart(self, number: int) -> bool:
        """Whether a session has a word of the question that few enough sessions have.

        At most half of all sessions, or three in a small store, may have such a word.
        """
        most = max(self._sessions * EVERY_OTHER, LEAST_SESSIONS)
        return any(self._used[best[number][1]] <= most for _, best in self._found if number in best)

    def _matches(self, number: int) -> list[TermMatch]:
        """Return the words of the question that a session has, those that count most first."""
        found = [
            TermMatch(concept.term, best[number][1], fields_of(best[number][2]), best[number][0])
            for concept, best in self._found
            if number in best
        ]
        return sorted(found, key=lambda one: (-one.score, one.term))


def _owners(subagents: Mapping[int, int | None]) -> dict[int, int]:
    """Map each subagent to the session at the top that started it, directly or through others.

    A subagent whose session at the top is not in the store maps to itself.
    """
    owners: dict[int, int] = {}
    for number in subagents:
        owner, seen = number, {number}
        while (above := subagents.get(owner)) is not None and above not in seen:
            owner = above
            seen.add(owner)
        # The session at the top is not in the store, so the subagent stands for itself.
        owners[number] = number if owner in subagents else owner
    return owners


def _title_postings(titles: Sequence[tuple[str, str]]) -> dict[str, list[tuple[int, int]]]:
    field = FIELDS[0]
    packed = packed_weight(field.weight, field.bit)
    found: dict[str, list[tuple[int, int]]] = {}
    for place, (_, title) in enumerate(titles):
        for term in set(terms_in(redact.mask_cut(title))):
            found.setdefault(term, []).append((-1 - place, packed))
    return found
