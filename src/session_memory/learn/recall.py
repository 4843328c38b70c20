"""Find the sessions that answer a question, best first, with the words that matched.

`session_memory.search.ranking` gives the best sessions by their search terms. This module reads
their digests and changes the order: words of the question that stand close together in a text count
more, and so do sessions that edited the files in question. Of equally good sessions, successful and
newer ones come first.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

import msgspec

from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.search.question import Concept, concepts_in, files_in
from session_memory.search.ranking import RankedSession, TermMatch, rank
from session_memory.search.recall_terms import may_have, terms_in

if TYPE_CHECKING:
    from session_memory.store.store import Store


READ = 20
"""The digests of this many of the best sessions are read, or of as many as are asked for."""
WINDOW = 4
NEAR = 0.4
"""The score grows by this share if all words that are neighbours in the question are close to each
other in a text, too."""
EDITED = 2.0
"""The score grows by this share if the session edited all files that the question names."""
SHARED = 1.0
"""The score grows by this share if the session edited the files that all the best sessions edited.
"""
COMPARED = 10
"""The edited files of this many of the best sessions are compared with those of every session."""
MOST_FILES = 3
_ORDER = {"success": 0, "continued": 1, "unknown": 2, "abandoned": 3, "fail": 4}


class RecalledSession(msgspec.Struct, frozen=True):
    """A session that answers a question. ``fit`` says from 0 to 1 how well its words do.

    ``likeness`` (0 to 1) is higher than ``fit`` if it edited the same files as the best sessions.
    Sessions with a higher ``score`` come first. ``digest`` is None if the session was never
    analyzed; then only its title was compared.
    """

    uid: str
    score: float
    fit: float
    matches: list[TermMatch]
    digest: Digest | None
    likeness: float = 0.0


def recall(
    store: "Store",
    question: str,
    *,
    limit: int,
    repo: str | None = None,
    only: Collection[str] | None = None,
) -> list[RecalledSession]:
    """Return the sessions that answer a question best. ``limit`` 0 means all that match.

    With ``repo`` or ``only`` (uids), only these sessions are ranked.
    """
    concepts, files = concepts_in(question), files_in(question)
    ranked = rank(store, concepts, repo=repo, only=only)
    return reranked(store, concepts, ranked, limit=limit, files=files)


def reranked(
    store: "Store",
    concepts: Sequence[Concept],
    ranked: Sequence[RankedSession],
    *,
    limit: int,
    files: Collection[str] = (),
) -> list[RecalledSession]:
    """Return the best of the ranked sessions in their final order, after reading their digests.

    ``concepts`` are the words of the question, ``files`` the names of files in it.
    """
    read = max(READ, limit) if limit else len(ranked)
    found = []
    for one in ranked[:read]:
        digest = digest_of(store, one.uid)
        nearness = _nearness(concepts, one.matches, digest) if digest else 0.0
        edited = _edited_files(digest)
        named = len(edited.intersection(files)) / len(files) if files else 0.0
        gain = (1 + NEAR * nearness) * (1 + EDITED * named)
        fit = round(min(one.fit * gain, 1.0), 4)
        found.append((RecalledSession(one.uid, one.score * gain, fit, one.matches, digest), edited))
    found.sort(key=lambda each: _best_first(each[0]))
    return sorted(_with_shared_files(found), key=_best_first)[: limit or None]


def _with_shared_files(
    found: Sequence[tuple[RecalledSession, frozenset[str]]],
) -> Iterator[RecalledSession]:
    """Yield the sessions, with a higher score for those that edited the same files as the best.

    Words alone also find sessions about something else. The sessions that truly belong to the
    question have mostly changed the same files. ``fit`` stays, because it is about words.
    """
    best = found[:COMPARED]
    whole = sum(one.score for one, _ in best)
    votes = defaultdict[tuple[str | None, str], float](float)
    for one, files in best:
        for file in files:
            votes[_repo_of(one), file] += one.score
    for place, (one, files) in enumerate(found):
        own = one.score if place < COMPARED else 0.0
        others, repo = whole - own, _repo_of(one)
        most = nlargest(MOST_FILES, (votes[repo, file] - own for file in files))
        share = sum(most) / MOST_FILES / others if others > 0 else 0.0
        gain = 1 + SHARED * share
        likeness = round(min(one.fit * gain, 1.0), 4)
        yield msgspec.structs.replace(one, score=one.score * gain, likeness=likeness)


def _repo_of(one: RecalledSession) -> str | None:
    return one.digest.repo if one.digest else None


def _best_first(one: RecalledSession) -> tuple[float, int, str, str]:
    outcome = one.digest.outcome.outcome if one.digest else "unknown"
    ended = (one.digest.ended_at if one.digest else None) or ""
    return -round(one.score, 2), _ORDER.get(outcome, 2), _descending(ended), one.uid


def _descending(text: str) -> str:
    """Return a sort key that puts later times first."""
    return "".join(chr(0x10FFFF - ord(char)) for char in text)


def _nearness(concepts: Sequence[Concept], matches: Iterable[TermMatch], digest: Digest) -> float:
    """Return the share of the score that comes from neighbouring words of the question which are
    close together in a text of the digest, too."""
    scores = {one.asked: one.score for one in matches}
    pairs = [
        (one, other)
        for one, other in zip(concepts, concepts[1:], strict=False)
        if one.term in scores and other.term in scores
    ]
    if not pairs:
        return 0.0
    near = dict.fromkeys(range(len(pairs)), False)
    wanted = {term for pair in pairs for one in pair for term in (one.term, *one.others)}
    for text in texts_of(digest):
        if not may_have(text, wanted):
            continue
        places = _places(terms_in(text))
        for number, (one, other) in enumerate(pairs):
            near[number] = near[number] or _are_near(places, one, other)
    gained = sum(
        scores[one.term] + scores[other.term]
        for number, (one, other) in enumerate(pairs)
        if near[number]
    )
    return gained / (2 * sum(scores.values()))


def _edited_files(digest: Digest | None) -> frozenset[str]:
    """Return the names of the files that the session edited, without their directories."""
    files = digest.files if digest else ()
    return frozenset(
        file.path.replace("\\", "/").rpartition("/")[2] for file in files if file.edits
    )


def _places(terms: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        places.setdefault(term, []).append(place)
    return places


def _are_near(places: dict[str, list[int]], one: Concept, other: Concept) -> bool:
    firsts = [place for term in (one.term, *one.others) for place in places.get(term, ())]
    seconds = {place for term in (other.term, *other.others) for place in places.get(term, ())}
    return any(
        place + step in seconds or place - step in seconds
        for place in firsts
        for step in range(1, WINDOW)
    )


def texts_of(digest: Digest) -> Iterator[str]:
    """Yield the texts of a digest in which words of a question may stand close together."""
    yield digest.title or ""
    for statements in (digest.commits, digest.prompts, digest.plans, digest.decisions):
        yield from (one.text for one in statements)
    for one in (digest.first_request, digest.last_answer):
        if one is not None:
            yield one.text
