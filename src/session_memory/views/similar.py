"""Sessions that are similar to a session or a text."""

from collections.abc import Collection
from typing import Any

import msgspec

from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.pricing import Amount, session_amounts
from session_memory.search.similar import SimilarSession, distinctive_words, similar_sessions
from session_memory.store import Store
from session_memory.store.hits import Hits
from session_memory.views.short_names import short_names

DEFAULT_LIMIT = 10
# The beginning shows what a session is about, so a long session is not read to its end.
MOST_TEXT = 300_000
LONGEST = 8_000
PROMPT, ANSWER, FAILURE, TITLE = 3.0, 1.0, 1.5, 4.0


class Similar(msgspec.Struct, frozen=True):
    words: list[str]
    found: list[SimilarSession]
    names: dict[str, str]
    titles: dict[int, str]
    amounts: dict[str, Amount]
    evicted: int = 0
    """The number of evicted sessions. They were compared by their titles only."""

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


def similar_to_text(store: Store, text: str, limit: int = DEFAULT_LIMIT) -> Similar:
    words = distinctive_words(store, {text: 1.0})
    return _shown(store, words, similar_sessions(store, words, limit=limit))


def similar_to_session(store: Store, uid: str, limit: int = DEFAULT_LIMIT) -> Similar:
    """Sessions similar to this one, by its prompts, answers, errors and files."""
    read = readable_store(store, uid)
    row = read.sessions.row(uid)
    number = row.id if row is not None else 0
    words = distinctive_words(store, _texts(read, uid, number, row.title if row else None))
    files = Hits(read.db, read.names).files_of(number)
    family = store.sessions.family_ids(uid)
    found = similar_sessions(store, words, without=family, files=files, limit=limit)
    return _shown(store, words, found, family)


def _texts(store: Store, uid: str, number: int, title: str | None) -> dict[str, float]:
    texts = {title: TITLE} if title else {}
    bodies, read = Bodies(store), 0
    for event in store.events.each_of(number, uid):
        if event.is_a("user_msg"):
            weight = PROMPT
        elif event.is_error:
            weight = FAILURE
        elif event.is_a("assistant_msg"):
            weight = ANSWER
        else:
            continue
        text = bodies.of(event).text[:LONGEST]
        texts[text] = max(weight, texts.get(text, 0.0))
        read += len(text)
        if read > MOST_TEXT:
            break
    return texts


def _shown(
    store: Store,
    words: dict[str, float],
    found: list[SimilarSession],
    without: Collection[int] = (),
) -> Similar:
    uids = [one.session.uid for one in found]
    return Similar(
        words=list(words),
        found=found,
        names=short_names(store, uids),
        titles=store.sessions.titles_of([one.session.id for one in found]),
        amounts=session_amounts(store, uids) if uids else {},
        evicted=sum(one.id not in without for one in Hits(store.db, store.names).evicted()),
    )
