"""Find the events that match a query, with a score and a reason, best first.

The index knows only words. For a phrase or a path the texts themselves are compared; the caller
passes a function that reads them. If not every candidate was compared, ``total_exact`` is false.
Events are divided into classes: message, summary, call and output.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from session_memory.search.expansion import (
    ExpandedTerms,
    expand_beginning,
    expand_parts,
    expand_unknown,
)
from session_memory.search.filters import Filters
from session_memory.search.query import Query, Term
from session_memory.search.scores import ScoredHit, Scoring, best_first
from session_memory.store.hits import Hit, Hits, HitSession
from session_memory.store.index import ALL as NEWEST
from session_memory.store.index import CLASSES, event_of, text_class_in, text_class_of
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery

ALL = 0
# For each class, the newest hits are scored: this many pages of ``limit`` hits. A common word has
# far more hits.
PAGES = 3
AT_ONCE, COMPARED = 500, 50
# Once something was found, at most this many texts of each class are compared. If only filters are
# checked, at least this many events of a class are looked at.
LOOKED_AT = 2000
# While nothing was found, at most this many texts of each class are compared. To compare a text
# takes up to a millisecond, and a query of very short words would compare nearly every text.
MOST_COMPARED = 500
# Each further question to the index asks for this many times as many hits as the one before, so
# that there are few questions: for a common word, each reads the index from the newest hit on.
GROWTH = 4
# The index is asked for at most this many words. The text comparison checks the rest.
MOST_CLAUSES = 64
ATTEMPTS = 3
# If more than `MANY_TITLES` titles match, only those of the newest sessions are compared, at most
# `MOST_TITLES`.
MANY_TITLES, MOST_TITLES = 500, 20_000

TextOf = Callable[[Hit], str]


class SearchAnswer(msgspec.Struct, frozen=True):
    """The scored hits of a search, best first, and the number of all hits (``total``).

    Unless ``total_exact``, there may be more hits than ``total``. ``terms`` are the searched terms,
    ``expanded`` the words of the index that stand for some of them.
    """

    found: list[ScoredHit]
    total: int
    total_exact: bool
    terms: tuple[Term, ...] = ()
    expanded: dict[str, tuple[str, ...]] = {}


def find_hits(
    store: Store,
    query: Query,
    filters: Filters,
    *,
    text_of: TextOf,
    now: int,
    limit: int = 20,
    expand: bool = True,
    typed: bool = False,
) -> SearchAnswer:
    """Return the best ``limit`` hits (0 means all) and their total number.

    ``text_of`` reads the text of a hit. ``now`` decides how old a hit is. If a word does not occur
    anywhere, words that contain it are searched instead, unless ``expand`` is false. With
    ``typed``, somebody is still typing the query, so its last word may be the beginning of a word.
    """
    for _ in range(ATTEMPTS):
        run = _Search(store, filters, text_of, now, limit)
        with store.index.stable_docs():
            answer = run.answer(query, expand=expand, typed=typed)
        if not run.was_outdated:
            break
    return answer


class _Search:
    def __init__(
        self, store: Store, filters: Filters, text_of: TextOf, now: int, limit: int
    ) -> None:
        self._index = store.index
        self._hits = Hits(store.db, store.names)
        self._titles_of = store.sessions.titles_of
        self._filters = filters
        self._text_of = text_of
        self._now = now
        self._limit = limit
        self._sessions: dict[int, HitSession] = {}
        self._admitted: dict[int, bool] = {}
        self.was_outdated = False
        """Whether another process derived a session again during the search."""

    def answer(self, query: Query, *, expand: bool, typed: bool) -> SearchAnswer:
        if not query.positive:
            return self._without_words(query)
        answer = self._hits_for(expand_parts(self._index, query.terms))
        if typed and not answer.total and answer.total_exact:
            begun = expand_beginning(self._index, query.terms)
            answer = self._hits_for(begun) if begun.words else answer
        # If not all texts were compared, other words would only add more texts to compare.
        if answer.total or not (expand and answer.total_exact):
            return answer
        widened = expand_unknown(self._index, query.terms)
        return self._hits_for(widened) if widened.words else answer

    def _hits_for(self, widened: ExpandedTerms) -> SearchAnswer:
        terms = widened.terms
        if any(not term.words for term in terms if not term.is_negative):
            return SearchAnswer([], 0, True, terms, widened.words)
        word_query = _word_query(terms)
        scoring = Scoring(terms, widened.words, self._now)
        found, total, exact = self._titles(word_query, terms, scoring)
        compared = [term for term in terms if term.needs_text]
        if compared or self._filters.is_any:
            checked, is_all = self._checked(word_query, compared, scoring)
            found += checked
            total, exact = total + len(checked), exact and is_all
        else:
            docs, is_all = self._newest(word_query)
            total += len(docs) if is_all else self._count(word_query)
            found += self._scored(docs, scoring)
        found.sort(key=best_first)
        some = found if self._limit == ALL else found[: self._limit]
        return SearchAnswer(some, total, exact and not widened.is_cut, terms, widened.words)

    def _newest(self, word_query: WordQuery) -> tuple[list[int], bool]:
        """Return the index numbers (docs) of the newest hits of each class, and whether these are
        all hits."""
        text_classes = self._filters.text_classes
        if self._limit == ALL:
            return [
                doc for doc in self._index.find(word_query) if text_class_in(doc) in text_classes
            ], True
        most, docs, is_all = self._limit * PAGES, [], True
        for text_class in text_classes:
            some = self._index.find(word_query, text_class=text_class, limit=most)
            is_all = is_all and len(some) < most
            docs += some
        return docs, is_all

    def _count(self, word_query: WordQuery) -> int:
        text_classes = self._filters.text_classes
        if len(text_classes) == len(CLASSES):
            return self._index.count(word_query)
        return sum(
            self._index.count(word_query, text_class=text_class) for text_class in text_classes
        )

    def _titles(
        self, word_query: WordQuery, terms: Sequence[Term], scoring: Scoring
    ) -> tuple[list[ScoredHit], int, bool]:
        """Return matching titles, the number of matching titles, and whether that is exact."""
        if not self._filters.with_titles:
            return [], 0, True
        numbers = self._index.sessions_titled(word_query)
        if self._filters.sessions:
            named = self._hits.sessions_named(self._filters.sessions).values()
            numbers = sorted({one.id for one in named}.intersection(numbers), reverse=True)
        if len(numbers) > MANY_TITLES and self._limit != ALL:
            return self._newest_titles(numbers, terms, scoring)
        found = list(self._compared_titles(numbers, terms, scoring))
        return found, len(found), True

    def _newest_titles(
        self, numbers: Sequence[int], terms: Sequence[Term], scoring: Scoring
    ) -> tuple[list[ScoredHit], int, bool]:
        """Return what `_titles` returns, for very many titles: only those of the newest sessions.

        These have the best scores, because the score of a title depends on its age alone.
        """
        matching, found = set(numbers), list[ScoredHit]()
        looked, first, size = 0, 0, MANY_TITLES
        while some := self._hits.newest_sessions(first, size):
            here = [number for number in some if number in matching]
            found += self._compared_titles(here, terms, scoring)
            first, size, looked = first + size, size * GROWTH, looked + len(here)
            if len(found) >= self._limit * PAGES or looked >= MOST_TITLES:
                break
        is_counted = not self._filters.is_any and not any(term.needs_text for term in terms)
        if is_counted:
            return found, len(numbers), True
        return found, len(found), looked == len(matching)

    def _compared_titles(
        self, numbers: Sequence[int], terms: Sequence[Term], scoring: Scoring
    ) -> Iterator[ScoredHit]:
        known, titles = self._known(numbers), self._titles_of(numbers)
        for number in numbers:
            session, title = known.get(number), titles.get(number)
            if session is None or not title or not self._filters.holds_for_title(session):
                continue
            if _all_match(title, terms):
                yield scoring.title(session)

    def _checked(
        self, word_query: WordQuery, compared: Sequence[Term], scoring: Scoring
    ) -> tuple[list[ScoredHit], bool]:
        """Return the hits that match filters and texts, and whether every candidate was checked.

        ``compared`` are the terms that have to be compared with the texts.
        """
        found: list[ScoredHit] = []
        is_all = True
        for text_class in self._filters.text_classes:
            here, looked = 0, 0
            for docs in self._pages(word_query, text_class, COMPARED if compared else AT_ONCE):
                if looked and self._is_enough(here, looked, len(found), compared):
                    is_all = False
                    break
                matching = self._matching(self._scored(self._of_sessions(docs), scoring), compared)
                found += matching
                here += len(matching)
                looked += len(docs)
        return found, is_all

    def _is_enough(self, here: int, looked: int, found: int, compared: Sequence[Term]) -> bool:
        """Whether to stop checking a class, because comparing texts is slow.

        ``here`` hits were found among ``looked`` events of this class, ``found`` hits in all.
        """
        if self._limit == ALL:
            return False
        if compared:
            most = LOOKED_AT if found else MOST_COMPARED
            return found >= self._limit or looked >= most
        return here >= self._limit * PAGES and looked >= LOOKED_AT

    def _pages(self, word_query: WordQuery, text_class: int, size: int) -> Iterator[list[int]]:
        before, most = NEWEST, size
        while docs := self._index.find(
            word_query, text_class=text_class, limit=most, before=before
        ):
            yield from (docs[first : first + size] for first in range(0, len(docs), size))
            before, most = docs[-1], most * GROWTH

    def _of_sessions(self, docs: list[int]) -> list[int]:
        """Return those docs whose sessions match the filters. This check is cheap."""
        if not self._filters.is_about_sessions:
            return docs
        sessions = self._hits.sessions_at([event_of(doc) for doc in docs])
        new = {number for number in sessions.values() if number not in self._admitted}
        known = self._known(new)
        for number in new:
            session = known.get(number)
            self._admitted[number] = session is not None and self._filters.holds_for_session(
                session
            )
        return [doc for doc in docs if self._admitted.get(sessions.get(event_of(doc), 0))]

    def _scored(self, docs: Sequence[int], scoring: Scoring) -> Iterator[ScoredHit]:
        hits = self._hits.of([event_of(doc) for doc in docs])
        known = self._known(hit.session_id for hit in hits.values())
        for doc in docs:
            hit = hits.get(event_of(doc))
            if hit is None or hit.session_id not in known:
                self.was_outdated = True
            else:
                yield scoring.event(hit, known[hit.session_id], CLASSES[text_class_in(doc)])

    def _matching(self, found: Iterable[ScoredHit], compared: Sequence[Term]) -> list[ScoredHit]:
        matching = [one for one in found if self._holds(one)]
        if compared:
            # Sorted by their place in the stored logs, so that texts of one pack are read together.
            matching.sort(key=lambda one: (one.hit.source, one.hit.place) if one.hit else ("", 0))
        return [one for one in matching if not compared or self._says(one, compared)]

    def _holds(self, one: ScoredHit) -> bool:
        matching = self._filters.holds_for_session(one.session)
        return (
            matching and one.hit is not None and self._filters.holds_for_event(one.hit, one.session)
        )

    def _says(self, one: ScoredHit, terms: Sequence[Term]) -> bool:
        """Whether the event's text matches the terms. Without a text, its summary is compared."""
        hit = one.hit
        return hit is not None and _all_match(self._text_of(hit) or hit.summary, terms)

    def _known(self, numbers: Iterable[int]) -> dict[int, HitSession]:
        missing = [number for number in set(numbers) if number not in self._sessions]
        if missing:
            self._sessions.update(self._hits.sessions_of(missing))
        return self._sessions

    def _without_words(self, query: Query) -> SearchAnswer:
        """Return the newest events for a query that has filters, but no word that must occur."""
        if not self._filters.is_any and not self._filters.classes:
            return SearchAnswer([], 0, True)
        scoring = Scoring((), {}, self._now)
        found: list[ScoredHit] = []
        known = self._hits.sessions()
        for hit in self._hits.newest():
            session = known.get(hit.session_id)
            text_class = text_class_of(hit.kinds[0], hit.role, hit.call_id)
            if session is None or text_class not in self._filters.text_classes:
                continue
            one = scoring.event(hit, session, CLASSES[text_class])
            if self._holds(one) and (not query.negative or self._says(one, query.negative)):
                if self._limit != ALL and len(found) == self._limit:
                    return SearchAnswer(found, len(found) + 1, False, query.terms)
                found.append(one)
        return SearchAnswer(found, len(found), True, query.terms)


def _all_match(text: str, terms: Sequence[Term]) -> bool:
    return all(term.matches(text) != term.is_negative for term in terms)


def _word_query(terms: Sequence[Term]) -> WordQuery:
    clauses: dict[tuple[QueryWord, ...], None] = {}
    without: list[QueryWord] = []
    for term in terms:
        if term.is_negative:
            without += () if term.needs_text else term.words
        elif term.is_part:
            clauses[term.words] = None
            clauses.update(((word,), None) for word in term.joints)
        else:
            clauses.update(((word,), None) for word in term.required_words)
    return WordQuery(tuple(clauses)[:MOST_CLAUSES], tuple(without))
