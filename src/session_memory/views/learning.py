"""Digests (results of analyses) and patterns, ready to show, and how many sessions to analyze."""

from difflib import get_close_matches
from typing import Any

import msgspec

from session_memory.core.errors import UnknownPattern, UnknownSession
from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.learn.advice import advice, title
from session_memory.learn.analyze import prices_id
from session_memory.learn.detect import signals_in
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.kept_patterns import kept_patterns
from session_memory.learn.patterns import Pattern
from session_memory.learn.session_rows import read_session
from session_memory.learn.signal import Signal
from session_memory.learn.version import analysis_version
from session_memory.pricing import session_amounts
from session_memory.store import Store
from session_memory.store.digests import Digests
from session_memory.views.continuations import continued_in


class DigestShown(msgspec.Struct, frozen=True):
    """A session's digest and its signals.

    ``is_stored`` is false for a digest that was made just now. ``is_outdated`` is true if older
    analysis code made the stored digest. ``continued_in`` is the uid of the session that carries
    out the plan of this session.
    """

    digest: Digest
    signals: tuple[Signal, ...]
    is_stored: bool
    is_outdated: bool = False
    continued_in: str | None = None

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def show_digest(store: Store, uid: str) -> DigestShown:
    """Return the stored digest of a session. If it is missing or out of date, make a digest that is
    only shown and not stored. An evicted session cannot be read: its stored digest is returned."""
    shown = _current_digest(store, uid)
    return msgspec.structs.replace(shown, continued_in=continued_in(store, shown.digest))


def _current_digest(store: Store, uid: str) -> DigestShown:
    session, row = store.sessions.get(uid), store.sessions.row(uid)
    stored = digest_of(store, uid)
    is_outdated = Digests(store.db).is_outdated(uid, analysis_version())
    if session is None or row is None:
        if stored is None:
            raise UnknownSession(uid)
        return DigestShown(stored, tuple(signals_in(stored)), True, is_outdated)
    is_current = session.analyzed_revision == session.revision and not is_outdated
    # An evicted session cannot be read, so its stored digest is the only one.
    if stored is not None and (is_current or session.evicted_at is not None):
        return DigestShown(stored, tuple(signals_in(stored)), True, is_outdated)
    digest = read_session(store, row.id, session, session_amounts(store, [uid])[uid]).digest
    return DigestShown(digest, tuple(signals_in(digest)), False, is_outdated)


MANY_SESSIONS = 50


class PatternList(msgspec.Struct, frozen=True):
    """Some of the ``total`` patterns. ``sessions`` is the number of digests, ``unread`` the number
    of sessions whose digest is missing or out of date."""

    patterns: list[Pattern]
    total: int
    sessions: int
    unread: int
    hidden: int = 0
    """The number of patterns that are left out as noise, or as rare."""

    def to_dict(self) -> dict[str, Any]:
        listed = [pattern_dict(pattern) for pattern in self.patterns]
        figures = {"total": self.total, "sessions": self.sessions, "unread": self.unread}
        return {"patterns": listed, **figures, "hidden": self.hidden}


def pattern_dict(pattern: Pattern) -> dict[str, Any]:
    return {**pattern.to_dict(), "title": title(pattern), "advice": advice(pattern)}


def list_patterns(
    store: Store,
    *,
    since: int | None = None,
    until: int | None = None,
    repo: str | None = None,
    kind: str | None = None,
    polarity: str | None = None,
    noise: bool = False,
    limit: int = 0,
) -> PatternList:
    """List patterns, the highest rank first. ``limit`` 0 lists all.

    Unless ``noise`` is set or ``kind`` is given, patterns that are noise are left out. In a store
    with many analyzed sessions, rare patterns are left out, too.
    """
    begin, end = MIN_MS if since is None else since, MAX_MS if until is None else until
    found = [
        pattern
        for pattern in kept_patterns(store, since=begin, until=end, repo=repo)
        if kind in (None, pattern.type) and polarity in (None, pattern.polarity)
    ]
    hidden = 0
    known = Digests(store.db).count()
    if not noise and kind is None:
        # Among few sessions nothing can be frequent yet.
        is_many = known >= MANY_SESSIONS
        kept = [one for one in found if not (one.noise or (one.rare and is_many))]
        hidden, found = len(found) - len(kept), kept
    return PatternList(found[: limit or None], len(found), known, unread(store), hidden)


def find_pattern(store: Store, name: str) -> Pattern:
    """Return the one pattern whose id starts with ``name``. Raises `UnknownPattern` if no pattern
    or several match."""
    found = kept_patterns(store)
    matching = [pattern for pattern in found if name and pattern.id.startswith(name)]
    if len(matching) != 1:
        near = [pattern.id for pattern in matching[:3]]
        near = near or get_close_matches(name, [pattern.id for pattern in found], n=3)
        raise UnknownPattern(name, near)
    return matching[0]


def unread(store: Store) -> int:
    """Count the sessions whose digest is missing or out of date."""
    return Digests(store.db).count_unanalyzed(analysis_version(), prices_id(store))
