"""Make the retrospective of a period or of one session, to be read in five minutes.

For each repository it has what was shipped, what that cost, and at most seven problems. The
problems that cost most come first. Each has advice or a lesson, and commands that show the
evidence.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.skills import FLAVOR as SKILL
from session_memory.core.text import one_line, visible
from session_memory.core.time import format_time
from session_memory.learn.advice import advice, title
from session_memory.learn.curate import suggested_text
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.learn.fleet import Fleet, fleet_of
from session_memory.learn.patterns import Pattern, cluster, signals_of
from session_memory.learn.retro_skills import SkillRetro, skill_retros
from session_memory.learn.signal import PROBLEM, Signal
from session_memory.pricing import Amount
from session_memory.store.store import Store

MOST_ITEMS = 7
MOST_LOOKS = 2
# A guess in micro-dollars: what it costs a person to write a message once more. It only decides the
# order of problems, and is part of no amount that is shown.
MESSAGE = 100_000
OF_PEOPLE = frozenset({"recurring_instruction", "repeated_instruction"})
MOST_READ = 300
MOST_COMMITS = 3
SUBJECT = 100
NOWHERE = "(no repository)"


class RetroSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the list of work: title, outcome, cost, and the numbers of commits and edits."""

    session_uid: str
    title: str
    outcome: str
    reason: str
    evidence: tuple[str, ...]
    tokens: int
    microdollars: int
    unpriced_tokens: int
    commits: int
    edits: int
    ended_at: str | None
    shipped: tuple[str, ...] = ()
    """The first lines of its last commits."""


class FixedError(msgspec.Struct, frozen=True, kw_only=True):
    """An error that a session resolved. ``kind`` and ``text`` say how (see `Resolution`)."""

    error: str
    kind: str
    text: str
    session_uid: str
    event_uids: tuple[str, ...]


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """Advice for one pattern. ``why`` has its title and how often it occurred.

    ``look`` are commands that show the evidence. ``is_lesson``: sessions agree on ``text``, so it
    can be accepted as a lesson without a change. ``decided`` is the status of the lesson that was
    made from the pattern, such as ``accepted`` or ``rejected``; "" if nobody decided.
    """

    text: str
    why: str
    pattern_id: str
    tokens: int
    microdollars: int
    basis: str
    look: tuple[str, ...]
    is_lesson: bool = False
    decided: str = ""


class RepoRetro(msgspec.Struct, frozen=True, kw_only=True):
    """The retrospective of one repository. Its cost includes subagents.

    ``done`` are sessions with commits, then the most expensive others. Each of the ``suggestions``
    belongs to the pattern at the same place in ``problems``.
    """

    repo: str
    sessions: int
    subagents: int
    outcomes: dict[str, int]
    tokens: int
    microdollars: int
    unpriced_tokens: int
    done: tuple[RetroSession, ...]
    problems: tuple[Pattern, ...]
    fixed: tuple[FixedError, ...]
    suggestions: tuple[Suggestion, ...]
    commits: int = 0

    @property
    def amount(self) -> Amount:
        return Amount(self.microdollars, self.unpriced_tokens)


class Retro(msgspec.Struct, frozen=True, kw_only=True):
    """The retrospective of a period, by repository and by skill.

    ``unread`` is the number of sessions without a current digest: what is new in them is missing.
    ``evicted`` is the number of evicted skill logs whose archive cannot be read, so that their
    calls are missing in ``skills``.
    """

    since: str
    until: str
    repos: tuple[RepoRetro, ...]
    skills: tuple[SkillRetro, ...]
    unread: int
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values if self.evicted else {k: v for k, v in values.items() if k != "evicted"}


def retro(
    store: Store, *, since: int, until: int, repo: str | None = None, unread: int = 0
) -> Retro:
    """Make the retrospective of the sessions that ended from ``since`` on and before ``until``."""
    fleet = fleet_of(store, since, until, repo)
    signals: dict[str, list[Signal]] = defaultdict(list)
    for signal in signals_of(store, fleet):
        signals[signal.repo or NOWHERE].append(signal)
    parts = _by_repo(fleet)
    repos = [_repo(store, name, part, signals[name]) for name, part in parts.items()]
    skills, evicted = skill_retros(store, since, until, repo)
    return Retro(
        since=format_time(since),
        until=format_time(until),
        repos=tuple(sorted(repos, key=lambda one: (-one.tokens, one.repo))),
        skills=skills,
        unread=unread,
        evicted=evicted,
    )


def retro_of(store: Store, uid: str, *, unread: int = 0) -> Retro | None:
    """Make the retrospective of a session with its subagents; None if it was never analyzed."""
    digest = digest_of(store, uid)
    if digest is None:
        return None
    members = {uid, *store.sessions.subagents(uid)}
    fleet = fleet_of(store)
    own = [row for row in fleet.sessions if row.session_uid in members]
    errors = [error for error in fleet.errors if error.session_uid in members]
    signals = [s for s in signals_of(store, fleet) if s.session_uid in members]
    repo = _repo(store, digest.repo or NOWHERE, Fleet(own, errors), signals)
    moments = digest.started_at or format_time(0), digest.ended_at or format_time(0)
    is_skill = digest.flavor == SKILL
    skills, evicted = skill_retros(store, None, None, None, uid=uid) if is_skill else ((), 0)
    return Retro(
        since=moments[0],
        until=moments[1],
        repos=(repo,),
        skills=skills,
        unread=unread,
        evicted=evicted,
    )


def _by_repo(fleet: Fleet) -> dict[str, Fleet]:
    parts: dict[str, Fleet] = {}
    for session in fleet.sessions:
        name = session.repo or NOWHERE
        parts.setdefault(name, Fleet([], [])).sessions.append(session)
    for error in fleet.errors:
        parts[fleet.by_uid[error.session_uid].repo or NOWHERE].errors.append(error)
    return parts


def _repo(store: Store, name: str, fleet: Fleet, signals: list[Signal]) -> RepoRetro:
    own = [session for session in fleet.sessions if session.relation != "subagent"]
    problems = _costliest(cluster(signals, fleet.errors))
    largest = sorted(own, key=lambda s: (-s.tokens, s.session_uid))[:MOST_READ]
    digests = [digest for s in largest if (digest := digest_of(store, s.session_uid)) is not None]
    work = sorted(map(_work, digests), key=lambda one: (not one.commits, -one.microdollars))
    return RepoRetro(
        repo=name,
        sessions=len(own),
        subagents=len(fleet.sessions) - len(own),
        outcomes=dict(sorted(Counter(session.outcome for session in own).items())),
        tokens=sum(session.tokens for session in fleet.sessions),
        microdollars=sum(session.microdollars for session in fleet.sessions),
        unpriced_tokens=sum(session.unpriced_tokens for session in fleet.sessions),
        done=tuple(work[:MOST_ITEMS]),
        problems=tuple(problems),
        fixed=tuple(_fixed(digests))[:MOST_ITEMS],
        suggestions=tuple(_suggestion(store, pattern) for pattern in problems),
        commits=sum(one.commits for one in work),
    )


def _costliest(found: list[Pattern]) -> list[Pattern]:
    """Return the problems that cost most, without noise. Rare problems come last."""
    problems = [one for one in found if one.polarity == PROBLEM and not one.noise]
    problems.sort(key=lambda one: (one.rare, -_loss(one), -one.tokens, -one.score, one.id))
    return problems[:MOST_ITEMS]


def _loss(pattern: Pattern) -> int:
    is_asked = pattern.type in OF_PEOPLE
    return pattern.microdollars + (pattern.magnitude * MESSAGE if is_asked else 0)


def _work(digest: Digest) -> RetroSession:
    asked = digest.first_request.text if digest.first_request else ""
    return RetroSession(
        session_uid=digest.session_uid,
        title=digest.title or asked,
        outcome=digest.outcome.outcome,
        reason=digest.outcome.reason,
        evidence=digest.outcome.evidence,
        tokens=digest.cost.tokens,
        microdollars=digest.cost.microdollars,
        unpriced_tokens=digest.cost.unpriced_tokens,
        commits=len(digest.commits),
        edits=digest.markers.edit,
        ended_at=digest.ended_at,
        shipped=tuple(one_line(commit.text, SUBJECT) for commit in digest.commits[-MOST_COMMITS:]),
    )


def _fixed(digests: list[Digest]) -> Iterator[FixedError]:
    """Yield the errors that a change resolved, those that cost most tokens first."""
    found = [
        (-error.tokens, digest.session_uid, error.fingerprint, error)
        for digest in digests
        for error in digest.error_snippets
        if (how := error.resolution) is not None and how.kind != "again" and not how.is_guess
    ]
    for _, uid, _, error in sorted(found, key=lambda item: item[:3]):
        if how := error.resolution:
            yield FixedError(
                error=error.sample,
                kind=how.kind,
                text=how.text,
                session_uid=uid,
                event_uids=(*error.event_uids[:1], *how.event_uids, how.succeeded),
            )


def _suggestion(store: Store, pattern: Pattern) -> Suggestion:
    day = (pattern.last_seen or "unknown")[:10]
    sessions = "1 session" if pattern.sessions == 1 else f"{pattern.sessions} sessions"
    lesson = suggested_text(store, pattern)
    return Suggestion(
        text=lesson or advice(pattern),
        why=f"{title(pattern)}: {sessions}, {pattern.times}, last {day}",
        pattern_id=pattern.id,
        tokens=pattern.tokens,
        microdollars=pattern.microdollars,
        basis=pattern.basis,
        look=tuple(_look(pattern)),
        is_lesson=bool(lesson),
    )


def _look(pattern: Pattern) -> Iterator[str]:
    """Yield commands that show the pattern's event in each of its latest sessions."""
    events = {seen.session_uid: seen.event_uid for seen in reversed(pattern.evidence)}
    for uid in list(reversed(events) if events else pattern.session_uids)[:MOST_LOOKS]:
        # The id of an event is from a log, and may be any text.
        around = f" --around {shlex.quote(visible(events[uid]))}" if events else ""
        yield f"session-memory show {uid}{around}"
