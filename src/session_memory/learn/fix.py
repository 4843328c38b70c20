"""Find how an error was resolved in earlier sessions.

The same error is found by its fingerprint, in all repositories and with all agents. If it never
occurred, errors with similar words are found, and the result says so.
"""

from collections.abc import Iterator
from heapq import nlargest

import msgspec

from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.learn.digest import ErrorSnippet, Resolution
from session_memory.learn.digest.fingerprints import error_line, fingerprint
from session_memory.learn.digest.similarity import content_words, word_overlap
from session_memory.learn.digests import digest_of
from session_memory.redact import mask
from session_memory.store.digests import Digests, ErrorRow
from session_memory.store.store import Store

SAME, SIMILAR, NOTHING = "same", "similar", "nothing"
MOST_TEXT = 1 << 20
MOST_LINES = 400
SHORTEST_LINE = 8
ALIKE = 0.4
# The most useful resolution first.
_STRENGTH = ("edit", "command", "instead", "look", "again", None)


class ErrorOccurrence(msgspec.Struct, frozen=True, kw_only=True):
    """The error in one session. ``resolution`` is None if it was not resolved there."""

    session_uid: str
    fingerprint: str
    sample: str
    call: str
    count: int
    event_uid: str
    likeness: float
    resolution: Resolution | None


class KnownError(msgspec.Struct, frozen=True):
    """The result. ``asked`` is the line that was searched for; ``basis`` is ``same``, ``similar``
    or ``nothing``."""

    asked: str
    fingerprint: str
    basis: str
    occurrences: list[ErrorOccurrence]


def known_errors(store: Store, text: str, limit: int) -> KnownError:
    """The sessions with the error in ``text``, resolved ones first. ``limit`` 0 means all."""
    text = mask(text[-MOST_TEXT:])
    asked = error_line(text)
    mark = fingerprint(asked)
    if not asked:
        return KnownError("", mark, NOTHING, [])
    rows = _same(store, text, mark)
    if rows:
        return KnownError(asked, mark, SAME, _ranked(store, [(1.0, row) for row in rows], limit))
    near = _similar(store, asked, limit or 50)
    return KnownError(asked, mark, SIMILAR if near else NOTHING, _ranked(store, near, limit))


def _same(store: Store, text: str, mark: str) -> list[ErrorRow]:
    """Errors with the fingerprint of the error line; else of any line of the output."""
    digests = Digests(store.db)
    if rows := digests.errors_like([mark]):
        return rows
    lines = dict.fromkeys(line.strip() for line in text.splitlines())
    marks = [fingerprint(line) for line in list(lines)[-MOST_LINES:] if len(line) >= SHORTEST_LINE]
    return digests.errors_like(list(dict.fromkeys(marks))) if marks else []


def _similar(store: Store, asked: str, limit: int) -> list[tuple[float, ErrorRow]]:
    words = content_words(asked)
    scored = (
        (round(score, 4), row)
        for row in Digests(store.db).errors()
        if (score := word_overlap(words, content_words(row.sample))) >= ALIKE
    )
    return nlargest(limit * 4, scored, key=lambda one: (one[0], one[1].session_uid))


def _ranked(store: Store, rows: list[tuple[float, ErrorRow]], limit: int) -> list[ErrorOccurrence]:
    """Best resolution first, then most similar, then newest."""
    newest = _ages(store)

    def order(one: tuple[float, ErrorRow]) -> tuple[int, float, int, str, str]:
        score, row = one
        strength = _STRENGTH.index(row.resolution) if row.resolution in _STRENGTH else 3
        age = -newest.get(row.session_uid, 0)
        return strength, -score, age, row.session_uid, row.event_uid

    return list(_occurrences(store, sorted(rows, key=order)[: limit or None]))


def _ages(store: Store) -> dict[str, int]:
    return {
        row.session_uid: row.ended_at or row.started_at or 0
        for row in Digests(store.db).briefs(MIN_MS, MAX_MS)
    }


def _occurrences(store: Store, rows: list[tuple[float, ErrorRow]]) -> Iterator[ErrorOccurrence]:
    for score, row in rows:
        snippet = _snippet(store, row)
        yield ErrorOccurrence(
            session_uid=row.session_uid,
            fingerprint=row.fingerprint,
            sample=row.sample,
            call=snippet.call if snippet else "",
            count=row.count,
            event_uid=row.event_uid,
            likeness=score,
            resolution=snippet.resolution if snippet else None,
        )


def _snippet(store: Store, row: ErrorRow) -> ErrorSnippet | None:
    digest = digest_of(store, row.session_uid)
    errors = digest.error_snippets if digest else ()
    return next((one for one in errors if one.fingerprint == row.fingerprint), None)
