"""Find sessions similar to a session or a text, by distinctive words and common files.

No model is used. A rare word counts more than a frequent one. A word that no other session has, or
that nearly all have, does not count.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from session_memory.core.index_words import words_in
from session_memory.store.hits import Hits, HitSession
from session_memory.store.index import event_of
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery

LOOKED_AT = 80
TERMS = 24
EVENTS_OF_A_TERM = 2000
CANDIDATES = 40
MOST_SHOWN = 6
SHORTEST = 3
# A word in more than a tenth of all events does not count; in a small store, in more than a fourth.
EVERYBODYS = 0.1
EVERYBODYS_OF_FEW, FEW = 0.25, 50
EVERY_OTHER = 0.5
FILE_WEIGHT = 3.0


class SimilarSession(msgspec.Struct, frozen=True):
    """A session like another. ``likeness``, 0 to 1, is the share of the distinctive words and files
    that both have."""

    session: HitSession
    likeness: float
    words: list[str]
    files: list[str]


def distinctive_words(store: Store, texts: Mapping[str, float]) -> dict[str, float]:
    """The distinctive words of the texts with their weights. ``texts`` maps each to its weight."""
    counts: Counter[str] = Counter()
    for text, weight in texts.items():
        for word, times in Counter(words_in(text)).items():
            if len(word) >= SHORTEST and not word.isdigit():
                counts[word] += weight * (1 + math.log(times))  # type: ignore[assignment]
    events = max(store.events.count(), 1)
    most = max(events * EVERYBODYS, min(events * EVERYBODYS_OF_FEW, FEW))
    found: dict[str, float] = {}
    for word, weight in counts.most_common(LOOKED_AT * 4):
        used = store.index.count(WordQuery(((QueryWord(word),),)))
        if 0 < used <= most:
            found[word] = weight * math.log(1 + events / used)
        if len(found) >= LOOKED_AT:
            break
    best = sorted(found, key=lambda word: (-found[word], word))[:TERMS]
    return {word: found[word] for word in best}


def similar_sessions(
    store: Store,
    words: Mapping[str, float],
    *,
    without: Iterable[int] = (),
    files: Iterable[str] = (),
    limit: int = 10,
) -> list[SimilarSession]:
    """The sessions that share most of ``words`` and ``files``, most similar first."""
    hits = Hits(store.db, store.names)
    own, shared = set(without), _sharing(store, hits, words)
    words = _distinctive(words, shared, store.sessions.count())
    scores = {
        session_id: sum(words[word] for word in has if word in words)
        for session_id, has in shared.items()
        if session_id not in own and not has.isdisjoint(words)
    }
    best = sorted(scores, key=lambda number: (-scores[number], number))[:CANDIDATES]
    mine = {_tail(path): path for path in files}
    whole = sum(words.values()) + FILE_WEIGHT * bool(mine) * _mean(words)
    found = []
    held = hits.sessions_of(best)
    for number in best:
        if number not in held:
            continue
        common = sorted({_tail(path) for path in hits.files_of(number)} & mine.keys())
        gained = scores[number] + FILE_WEIGHT * _mean(words) * len(common) / max(len(mine), 1)
        common_words = sorted(shared[number] & words.keys(), key=lambda word: -words[word])[
            :MOST_SHOWN
        ]
        likeness = round(min(gained / whole, 1.0), 4) if whole else 0.0
        found.append(SimilarSession(held[number], likeness, common_words, common[:MOST_SHOWN]))
    found.sort(key=lambda one: (-one.likeness, one.session.uid))
    return found[:limit] if limit else found


def _sharing(store: Store, hits: Hits, words: Mapping[str, float]) -> dict[int, set[str]]:
    """The words that each session has, by session id. A frequent word counts only if it is new."""
    shared: dict[int, set[str]] = {}
    for word in words:
        docs = store.index.find(WordQuery(((QueryWord(word),),)), limit=EVENTS_OF_A_TERM)
        for session_id in set(hits.sessions_at([event_of(doc) for doc in docs]).values()):
            shared.setdefault(session_id, set()).add(word)
    return shared


def _distinctive(
    words: Mapping[str, float], shared: Mapping[int, set[str]], sessions: int
) -> Mapping[str, float]:
    """The words that at most half of all sessions have."""
    used = Counter(word for has in shared.values() for word in has)
    most = max(sessions * EVERY_OTHER, 2)
    return {word: weight for word, weight in words.items() if used[word] <= most}


def _mean(words: Mapping[str, float]) -> float:
    return sum(words.values()) / len(words) if words else 1.0


def _tail(path: str) -> str:
    """The last three parts of a path, which are the same on two machines."""
    return "/".join(path.replace("\\", "/").split("/")[-3:])
