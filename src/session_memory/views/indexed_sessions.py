"""Find sessions with an event that has all words of a text, in the search index alone."""

from session_memory.core.index_words import words_in
from session_memory.store.hits import Hits, HitSession
from session_memory.store.index import event_of
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery

MOST_EVENTS = 1_000


def sessions_with_words(
    store: Store, text: str, *, text_class: int | None = None
) -> list[HitSession]:
    """Return the sessions with an event that has all words of ``text``.

    With ``text_class``, only events of this class (prompts, outputs, …) count. Of many matching
    events, only the 1,000 that were stored last are looked at.
    """
    clauses = tuple((QueryWord(word),) for word in words_in(text))
    if not clauses:
        return []
    docs = store.index.find(WordQuery(clauses), text_class=text_class, limit=MOST_EVENTS)
    hits = Hits(store.db, store.names)
    numbers = sorted(set(hits.sessions_at([event_of(doc) for doc in docs]).values()))
    return list(hits.sessions_of(numbers).values())
