"""Compute the figures of skills for a retrospective: pass rates, attempts, frequent failures.

The figures come from the events of skill logs. Events of evicted sessions are read from the
archive.
"""

from collections import Counter, defaultdict

import msgspec

from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.core.skills import ATTEMPT, FLAVOR, RESULT, verdict_of
from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.digest.texts import Texts
from session_memory.learn.fleet import is_in
from session_memory.store.brief_events import BriefEvent, brief_events
from session_memory.store.digests import Digests
from session_memory.store.store import Store

MOST_FAILURES = 3


class SkillFailure(msgspec.Struct, frozen=True):
    """Failed calls of a skill with the same reason, which is in ``sample``.

    ``session_uid`` and ``event_uid`` name one of the calls.
    """

    sample: str
    count: int
    session_uid: str
    event_uid: str


class ModelTries(msgspec.Struct, frozen=True):
    """The number of attempts of one model, and how many of them a run confirmed (exit status 0)."""

    tries: int
    verified: int


class SkillRetro(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one skill in a period.

    ``first_try`` is the number of calls that passed at the first attempt, ``recovered`` the number
    of calls that passed after more attempts. ``models`` counts passed calls by the model of the
    last attempt, ``tries`` the attempts of each model. ``unexplained`` is the number of failed
    calls without a reason in the log.
    """

    skill: str
    calls: int
    passed: int
    failed: int
    first_try: int
    recovered: int
    attempts: int
    models: dict[str, int]
    failures: tuple[SkillFailure, ...]
    unexplained: int = 0
    tries: dict[str, ModelTries] = {}

    @property
    def pass_rate(self) -> float | None:
        finished = self.passed + self.failed
        return self.passed / finished if finished else None


class _SkillCounts:
    def __init__(self) -> None:
        self.calls = self.passed = self.failed = self.first_try = self.attempts = 0
        self.models: Counter[str] = Counter()
        self.unexplained = 0
        self.tries: Counter[str] = Counter()
        self.verified: Counter[str] = Counter()
        self.failures: dict[str, list[SkillFailure]] = defaultdict(list)


def skill_retros(
    store: Store, since: int | None, until: int | None, repo: str | None, uid: str | None = None
) -> tuple[tuple[SkillRetro, ...], int]:
    """Return the figures of each skill that was called in the period, most failures first.

    The second value is the number of evicted sessions whose archive cannot be read. Their calls are
    missing. With ``uid``, only this session counts.
    """
    found: dict[str, _SkillCounts] = defaultdict(_SkillCounts)
    missing = 0
    digests = Digests(store.db)
    begin, end = MIN_MS if since is None else since, MAX_MS if until is None else until
    for row in digests.briefs(begin, end):
        is_included = row.session_uid == uid if uid else is_in(row.repo, repo)
        if row.flavor == FLAVOR and is_included:
            try:
                having = readable_store(store, row.session_uid)
            except (ArchiveError, SessionEvicted):
                missing += 1
                continue
            _count(having, row.session_uid, found, begin, end)
    order = sorted(found.items(), key=lambda item: (-item[1].failed, item[0]))
    return tuple(_retro(skill, counts) for skill, counts in order), missing


def _count(store: Store, uid: str, found: dict[str, _SkillCounts], since: int, until: int) -> None:
    row = store.sessions.row(uid)
    if row is None:
        return
    texts = Texts(Bodies(store))
    tries: list[BriefEvent] = []
    for event in brief_events(store.db, store.names, row.id):
        kind = event.native_kind or ""
        if kind == ATTEMPT:
            tries.append(event)
        elif kind.startswith(RESULT):
            if event.at is None or since <= event.at < until:
                _ended(found[event.tool or ""], uid, event, tries, texts)
            tries = []


def _ended(
    counts: _SkillCounts, uid: str, result: BriefEvent, tries: list[BriefEvent], texts: Texts
) -> None:
    verdict = verdict_of((result.native_kind or "").removeprefix(RESULT))
    counts.calls += 1
    counts.attempts += len(tries)
    for event in tries:
        counts.tries[event.model or "-"] += 1
        counts.verified[event.model or "-"] += event.exit_code == 0
    if verdict == "pass":
        counts.passed += 1
        counts.first_try += len(tries) <= 1
        counts.models[(tries[-1].model if tries else None) or "-"] += 1
    elif verdict == "fail":
        counts.failed += 1
        reasons = (texts.reason(event) for event in (*reversed(tries), result))
        if sample := next(filter(None, reasons), ""):
            failure = SkillFailure(sample, 1, uid, result.event_uid)
            counts.failures[fingerprint(sample)].append(failure)
        else:
            counts.unexplained += 1


def _retro(skill: str, counts: _SkillCounts) -> SkillRetro:
    most = sorted(counts.failures.values(), key=lambda some: (-len(some), some[0].sample))
    return SkillRetro(
        skill=skill,
        calls=counts.calls,
        passed=counts.passed,
        failed=counts.failed,
        first_try=counts.first_try,
        recovered=counts.passed - counts.first_try,
        attempts=counts.attempts,
        models=dict(sorted(counts.models.items())),
        tries={
            model: ModelTries(times, counts.verified[model])
            for model, times in sorted(counts.tries.items())
        },
        unexplained=counts.unexplained,
        failures=tuple(
            msgspec.structs.replace(some[-1], count=len(some)) for some in most[:MOST_FAILURES]
        ),
    )
