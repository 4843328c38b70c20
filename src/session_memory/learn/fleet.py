"""A fleet: the analyzed sessions of a period and their errors, to be compared with each other."""

from fnmatch import fnmatchcase
from functools import cached_property

import msgspec

from session_memory.core.text import one_line
from session_memory.core.time import MAX_MS, MIN_MS, format_time
from session_memory.learn.signal import DETAIL, LOCUS, PROBLEM, Signal
from session_memory.store.digests import DigestRow, Digests, ErrorRow
from session_memory.store.store import Store


class Fleet(msgspec.Struct, frozen=True, dict=True):
    """Analyzed sessions, sorted by uid, and their errors, sorted by session."""

    sessions: list[DigestRow]
    errors: list[ErrorRow]

    @cached_property
    def by_uid(self) -> dict[str, DigestRow]:
        return {session.session_uid: session for session in self.sessions}

    def signal(
        self,
        uid: str,
        kind: str,
        *,
        locus: str,
        magnitude: int,
        detail: str,
        evidence: tuple[str, ...] = (),
        tokens: int = 0,
    ) -> Signal:
        """Make a signal (a problem that stands out) of the session ``uid``.

        The cost of the signal is the session's cost times ``tokens``, divided by all tokens of the
        session.
        """
        session = self.by_uid[uid]
        share = min(tokens, session.tokens)
        at = session.started_at if session.ended_at is None else session.ended_at
        return Signal(
            session_uid=uid,
            flavor=session.flavor,
            repo=session.repo,
            type=kind,
            polarity=PROBLEM,
            locus=one_line(locus, LOCUS),
            magnitude=magnitude,
            detail=one_line(detail, DETAIL),
            tokens=tokens,
            microdollars=session.microdollars * share // session.tokens if session.tokens else 0,
            basis=session.basis,
            evidence=evidence,
            at=None if at is None else format_time(at),
        )


def is_in(repo: str | None, pattern: str | None) -> bool:
    """Whether a repository matches a pattern with ``*`` and ``?``; None matches all."""
    return pattern is None or fnmatchcase((repo or "").casefold(), pattern.casefold())


def fleet_of(
    store: Store, since: int = MIN_MS, until: int = MAX_MS, repo: str | None = None
) -> Fleet:
    """Return the analyzed sessions that ended from ``since`` on and before ``until``.

    ``repo`` limits them to repositories that match it; it may contain ``*`` and ``?``.
    """
    digests = Digests(store.db)
    sessions = [row for row in digests.briefs(since, until) if is_in(row.repo, repo)]
    known = {session.session_uid for session in sessions}
    return Fleet(sessions, list(digests.errors(known)))
