"""A question to the index, and its answer: hits with a score and a reason, the best first.

The index knows words. Where a question asks for more (two words side by side, a path as it
stands), texts are compared, through a look-up the caller hands in. Nothing is hidden for its
class, and an answer that does not tell everything says so.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from session_memory.search.filters import Filters
from session_memory.search.query import Query, Term
from session_memory.search.scores import Found, Scoring, best_first
from session_memory.search.widening import Widened, with_likely, with_parts
from session_memory.store.hits import Hit, Hits, HitSession
from session_memory.store.index import ALL as NEWEST
from session_memory.store.index import CLASSES, event_of, text_class_in, text_class_of
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery

ALL = 0
# So many pages of the newest of each class are weighed; of a common word there are far more.
PAGES = 3
AT_ONCE, COMPARED = 500, 100
# So many are looked at for what the index cannot tell, and more only until something is found.
LOOKED_AT = 2000
# The rest of a long phrase is compared; the index need not be asked for every word of it.
MOST_CLAUSES = 64
ATTEMPTS = 3

TextOf = Callable[[Hit], str]


class Answer(msgspec.Struct, frozen=True):
    """``terms`` are what was looked for in the end, other spellings included."""

    found: list[Found]
    total: int
    total_exact: bool
    terms: tuple[Term, ...] = ()
    expanded: dict[str, tuple[str, ...]] = {}


def ask(
    store: Store,
    query: Query,
    filters: Filters,
    *,
    text_of: TextOf,
    now: int,
    limit: int = 20,
    expand: bool = True,
) -> Answer:
    """The best ``limit`` hits (0: all of them) and how many there are.

    Where nothing has a word as it was given, words that contain it are looked for instead, unless
    ``expand`` is off.
    """
    for _ in range(ATTEMPTS):
        asking = _Asking(store, filters, text_of, now, limit)
        with store.index.stable_docs():
            answer = asking.answer(query, expand=expand)
        if not asking.was_overtaken:
            break
    return answer


class _Asking:
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
        self.was_overtaken = False
        """Another process derived a session anew between two looks."""

    def answer(self, query: Query, *, expand: bool) -> Answer:
        if not query.wanted:
            return self._listed(query)
        answer = self._answered(with_parts(self._index, query.terms))
        if answer.total or not expand:
            return answer
        widened = with_likely(self._index, query.terms)
        return self._answered(widened) if widened.words else answer

    # ------------------------------------------------------------ with words

    def _answered(self, widened: Widened) -> Answer:
        terms = widened.terms
        if any(not term.words for term in terms if not term.is_negative):
            return Answer([], 0, True, terms, widened.words)
        asked = _asked(terms)
        scoring = Scoring(terms, widened.words, self._now)
        found = list(self._titles(asked, terms, scoring))
        compared = [term for term in terms if term.needs_text]
        if compared or self._filters.is_any:
            sifted, exact = self._sifted(asked, compared, scoring)
            found += sifted
            total = len(found)
        else:
            docs, is_all = self._newest(asked)
            total = len(found) + (len(docs) if is_all else self._count(asked))
            exact = True
            found += self._scored(docs, scoring)
        found.sort(key=best_first)
        some = found if self._limit == ALL else found[: self._limit]
        return Answer(some, total, exact and not widened.is_cut, terms, widened.words)

    def _newest(self, asked: WordQuery) -> tuple[list[int], bool]:
        """The newest docs of each class; whether these are all of them."""
        text_classes = self._filters.text_classes
        if self._limit == ALL:
            return [
                doc for doc in self._index.find(asked) if text_class_in(doc) in text_classes
            ], True
        most, docs, is_all = self._limit * PAGES, [], True
        for text_class in text_classes:
            some = self._index.find(asked, text_class=text_class, limit=most)
            is_all = is_all and len(some) < most
            docs += some
        return docs, is_all

    def _count(self, asked: WordQuery) -> int:
        text_classes = self._filters.text_classes
        if len(text_classes) == len(CLASSES):
            return self._index.count(asked)
        return sum(self._index.count(asked, text_class=text_class) for text_class in text_classes)

    def _titles(self, asked: WordQuery, terms: Sequence[Term], scoring: Scoring) -> Iterator[Found]:
        """Titles are few: those that the index names are looked at themselves."""
        if not self._filters.with_titles:
            return
        numbers = self._index.sessions_titled(asked)
        known, titles = self._known(numbers), self._titles_of(numbers)
        for number in numbers:
            session, title = known.get(number), titles.get(number)
            if session is None or not title or not self._filters.holds_for_title(session):
                continue
            if _stand_in(title, terms):
                yield scoring.title(session)

    def _sifted(
        self, asked: WordQuery, compared: Sequence[Term], scoring: Scoring
    ) -> tuple[list[Found], bool]:
        """Hits that hold after a second look; whether every doc had one."""
        found: list[Found] = []
        is_all = True
        for text_class in self._filters.text_classes:
            here, looked = 0, 0
            for docs in self._pages(asked, text_class, COMPARED if compared else AT_ONCE):
                if looked and self._is_enough(here, looked, len(found), compared):
                    is_all = False
                    break
                held = self._held(self._scored(self._of_sessions(docs), scoring), compared)
                found += held
                here += len(held)
                looked += len(docs)
        return found, is_all

    def _is_enough(self, here: int, looked: int, found: int, compared: Sequence[Term]) -> bool:
        """Texts are costly to compare: a better class that fills the page is enough."""
        if self._limit == ALL:
            return False
        if compared:
            return found >= self._limit or (found > 0 and looked >= LOOKED_AT)
        return here >= self._limit * PAGES and looked >= LOOKED_AT

    def _pages(self, asked: WordQuery, text_class: int, size: int) -> Iterator[list[int]]:
        before = NEWEST
        while docs := self._index.find(asked, text_class=text_class, limit=size, before=before):
            yield docs
            before = docs[-1]

    def _of_sessions(self, docs: list[int]) -> list[int]:
        """Without those of sessions that nobody asked about, which is quickly seen."""
        if not self._filters.is_about_sessions:
            return docs
        sessions = self._hits.sessions_at([event_of(doc) for doc in docs])
        known = self._known(sessions.values())
        wanted = {one for one in known if self._filters.holds_for_session(known[one])}
        return [doc for doc in docs if sessions.get(event_of(doc)) in wanted]

    def _scored(self, docs: Sequence[int], scoring: Scoring) -> Iterator[Found]:
        hits = self._hits.of([event_of(doc) for doc in docs])
        known = self._known(hit.session_id for hit in hits.values())
        for doc in docs:
            hit = hits.get(event_of(doc))
            if hit is None or hit.session_id not in known:
                self.was_overtaken = True
            else:
                yield scoring.event(hit, known[hit.session_id], CLASSES[text_class_in(doc)])

    def _held(self, found: Iterable[Found], compared: Sequence[Term]) -> list[Found]:
        held = [one for one in found if self._holds(one)]
        if compared:
            # By the place of their texts: neighbours lie in one pack.
            held.sort(key=lambda one: (one.hit.source, one.hit.place) if one.hit else ("", 0))
        return [one for one in held if not compared or self._says(one, compared)]

    def _holds(self, one: Found) -> bool:
        held = self._filters.holds_for_session(one.session)
        return held and one.hit is not None and self._filters.holds_for_event(one.hit, one.session)

    def _says(self, one: Found, terms: Sequence[Term]) -> bool:
        """The line that every event keeps will do where the raw alone does not tell."""
        hit = one.hit
        return hit is not None and _stand_in(self._text_of(hit) or hit.summary, terms)

    def _known(self, numbers: Iterable[int]) -> dict[int, HitSession]:
        missing = [number for number in set(numbers) if number not in self._sessions]
        if missing:
            self._sessions.update(self._hits.sessions_of(missing))
        return self._sessions

    # ------------------------------------------------------------ without words

    def _listed(self, query: Query) -> Answer:
        """Events by what they are alone, the newest first."""
        if not self._filters.is_any and not self._filters.classes:
            return Answer([], 0, True)
        scoring = Scoring((), {}, self._now)
        found: list[Found] = []
        known = self._hits.sessions()
        for hit in self._hits.newest():
            session = known.get(hit.session_id)
            text_class = text_class_of(hit.kinds[0], hit.role, hit.call_id)
            if session is None or text_class not in self._filters.text_classes:
                continue
            one = scoring.event(hit, session, CLASSES[text_class])
            if self._holds(one) and (not query.unwanted or self._says(one, query.unwanted)):
                if self._limit != ALL and len(found) == self._limit:
                    return Answer(found, len(found) + 1, False, query.terms)
                found.append(one)
        return Answer(found, len(found), True, query.terms)


def _stand_in(text: str, terms: Sequence[Term]) -> bool:
    return all(term.stands_in(text) != term.is_negative for term in terms)


def _asked(terms: Sequence[Term]) -> WordQuery:
    clauses: dict[tuple[QueryWord, ...], None] = {}
    without: list[QueryWord] = []
    for term in terms:
        if term.is_negative:
            without += () if term.needs_text else term.words
        elif term.is_part:
            clauses[term.words] = None
        else:
            clauses.update(((word,), None) for word in term.words)
    return WordQuery(tuple(clauses)[:MOST_CLAUSES], tuple(without))
