"""Find sessions that are similar to a session or a text."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.recall import RecalledSession, recall, reranked, texts_of
from session_memory.pricing import Amount, session_amounts
from session_memory.search import Filters, parse
from session_memory.search.ranking import concepts_of, rank
from session_memory.search.recall_terms import terms_in
from session_memory.store import Store
from session_memory.store.hits import Hits, HitSession
from session_memory.store.recall import Recall
from session_memory.views.matched_words import joined_pairs, matched_words, words_by_term
from session_memory.views.search import narrowed
from session_memory.views.short_names import short_names

DEFAULT_LIMIT = 10
MOST_CONCEPTS = 40
MOST_SHOWN = 6
LEAST = 0.02


class SimilarSession(msgspec.Struct, frozen=True):
    """A session that is similar to the given session or text.

    ``likeness``, from 0 to 1, says how many rare words of the given session or text are in this
    session. It is higher if this session edited the same files as the other similar sessions.
    ``words`` and ``files`` are in both.
    """

    session: HitSession
    likeness: float
    words: list[str]
    files: list[str]


class Similar(msgspec.Struct, frozen=True):
    words: list[str]
    found: list[SimilarSession]
    names: dict[str, str]
    titles: dict[int, str]
    amounts: dict[str, Amount]
    evicted: int = 0
    """The number of evicted sessions that were compared by their titles only."""

    def to_dict(self) -> dict[str, Any]:
        more = {"evicted": self.evicted} if self.evicted else {}
        return {
            "words": self.words,
            "sessions": [
                {
                    "session_uid": one.session.uid,
                    "title": self.titles.get(one.session.id),
                    "likeness": one.likeness,
                    "words": one.words,
                    "files": one.files,
                }
                for one in self.found
            ],
            **more,
        }


def search_sessions(
    store: Store, text: str, filters: Filters, limit: int = DEFAULT_LIMIT
) -> Similar:
    """Find sessions about a text that match the filters.

    The text may contain filters, such as ``repo:webshop``.
    """
    query = parse(text)
    filters = narrowed(store, filters, query.fields)
    if filters.is_about_events or filters.classes or filters.excludes_events:
        hint = "Leave out kind, tool, file and class, or search for events."
        raise InvalidRecord("a search for sessions has no filter for events", hint, field="kind")
    words = " ".join(term.shown for term in query.positive)
    if not filters.is_any:
        return similar_to_text(store, words, limit)
    sessions = Hits(store.db, store.names).sessions().values()
    only = {one.uid for one in sessions if filters.holds_for_title(one)}
    return similar_to_text(store, words, limit, only=only)


def similar_to_text(
    store: Store, text: str, limit: int = DEFAULT_LIMIT, *, only: Collection[str] | None = None
) -> Similar:
    found = [one for one in recall(store, text, limit=limit, only=only) if one.fit >= LEAST]
    words = words_by_term([text])
    asked = [words.get(term, term) for term in dict.fromkeys(terms_in(text))]
    shared = {
        one.uid: joined_pairs(word.found for word in matched_words(text, one)) for one in found
    }
    return _similar(store, asked, found, shared, None)


def _texts(digest: Digest) -> Iterator[str]:
    """Yield the texts of a session whose words another session may share."""
    yield from texts_of(digest)
    yield from (file.path for file in digest.files)
    yield from (command.text for command in digest.commands)
    yield f"{digest.repo or ''} {digest.git_branch or ''}"


def similar_to_session(store: Store, uid: str, limit: int = DEFAULT_LIMIT) -> Similar:
    """Find sessions that share rare words with this one, in titles, prompts, commits and the like.

    Its relatives (`family_ids`) are left out.
    """
    digest, terms = _read(store, uid)
    family = {store.sessions.row_by_id(number).uid for number in store.sessions.family_ids(uid)}
    concepts = concepts_of(terms)
    ranked = rank(store, concepts, most_concepts=MOST_CONCEPTS, without={uid, *family})
    found = [one for one in reranked(store, [], ranked, limit=limit) if one.fit >= LEAST]
    terms_shown = {match.term for one in found for match in one.matches[:MOST_SHOWN]}
    words = words_by_term(_texts(digest), terms_shown) if digest else {}
    shared = {
        one.uid: joined_pairs(
            words.get(match.term, match.term) for match in one.matches[:MOST_SHOWN]
        )
        for one in found
    }
    telling = dict.fromkeys(word for some in shared.values() for word in some)
    return _similar(store, list(telling), found, shared, digest)


def _read(store: Store, uid: str) -> tuple[Digest | None, dict[str, int]]:
    """Return the digest and the terms (weighted words) of a session. If none are stored, they are
    made now; for an evicted session, None and no terms are returned."""
    terms = Recall(store.db).terms_of(uid)
    if terms is not None:
        return digest_of(store, uid), terms
    session, row = store.sessions.get(uid), store.sessions.row(uid)
    if session is None or row is None or session.evicted_at is not None:
        return None, {}
    # Importing the code that makes digests takes long, and most sessions have a stored one.
    from session_memory.learn.session_rows import read_session  # noqa: PLC0415

    read = read_session(store, row.id, session, session_amounts(store, [uid])[uid])
    return read.digest, read.terms


def _similar(
    store: Store,
    words: list[str],
    recalled: Sequence[RecalledSession],
    shared: dict[str, list[str]],
    digest: Digest | None,
) -> Similar:
    hits, uids = Hits(store.db, store.names), [one.uid for one in recalled]
    sessions = hits.sessions_named(uids)
    own = _files(digest)
    found = [
        SimilarSession(
            sessions[one.uid],
            one.likeness,
            list(dict.fromkeys(shared[one.uid])),
            sorted(own & _files(one.digest))[:MOST_SHOWN],
        )
        for one in recalled
        if one.uid in sessions
    ]
    return Similar(
        words=words,
        found=found,
        names=short_names(store, uids),
        titles=store.sessions.titles_of([one.session.id for one in found]),
        amounts=session_amounts(store, uids) if uids else {},
        evicted=len(Recall(store.db).absent_evicted()),
    )


def _files(digest: Digest | None) -> set[str]:
    """Return the ends of the paths that a session edited. They are the same in every checkout."""
    return {_tail(file.path) for file in digest.files if file.edits} if digest else set()


def _tail(path: str) -> str:
    """Return the last three parts of a path, with slashes between them."""
    return "/".join(path.replace("\\", "/").split("/")[-3:])
