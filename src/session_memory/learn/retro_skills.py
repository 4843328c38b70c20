"""What became of skills in a stretch of time: how often they passed, at which try, and what their
failures said. Asked of the events of the skill logs alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec

from session_memory.core.skills import ATTEMPT, FLAVOR, RESULT, verdict_of
from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.fleet import is_in
from session_memory.store.brief_events import BriefEvent, brief_events
from session_memory.store.digests import Digests
from session_memory.store.store import Store

MOST_FAILURES = 3


class SkillFailure(msgspec.Struct, frozen=True):
    """What failed calls said, by what they have in common."""

    sample: str
    count: int
    session_uid: str
    event_uid: str


class SkillRetro(msgspec.Struct, frozen=True, kw_only=True):
    """``first_try`` calls passed without a second attempt; ``recovered`` ones needed more;
    ``models`` counts the passes by who made the last attempt."""

    skill: str
    calls: int
    passed: int
    failed: int
    first_try: int
    recovered: int
    attempts: int
    models: dict[str, int]
    failures: tuple[SkillFailure, ...]

    @property
    def pass_rate(self) -> float | None:
        judged = self.passed + self.failed
        return self.passed / judged if judged else None


class _Tally:
    def __init__(self) -> None:
        self.calls = self.passed = self.failed = self.first_try = self.attempts = 0
        self.models: Counter[str] = Counter()
        self.failures: dict[str, list[SkillFailure]] = defaultdict(list)


def skill_retros(
    store: Store, since: int | None, until: int | None, repo: str | None, uid: str | None = None
) -> Iterator[SkillRetro]:
    """Each skill that was called in the time, the most failures first."""
    found: dict[str, _Tally] = defaultdict(_Tally)
    digests = Digests(store.db)
    begin, end = MIN_MS if since is None else since, MAX_MS if until is None else until
    for row in digests.briefs(begin, end):
        wanted = row.session_uid == uid if uid else is_in(row.repo, repo)
        if row.flavor == FLAVOR and wanted:
            _count(store, row.session_uid, found, begin, end)
    for skill, told in sorted(found.items(), key=lambda item: (-item[1].failed, item[0])):
        yield _retro(skill, told)


def _count(store: Store, uid: str, found: dict[str, _Tally], since: int, until: int) -> None:
    row = store.sessions.row(uid)
    if row is None:
        return
    tries: list[BriefEvent] = []
    for event in brief_events(store.db, store.names, row.id):
        kind = event.native_kind or ""
        if kind == ATTEMPT:
            tries.append(event)
        elif kind.startswith(RESULT):
            if event.at is None or since <= event.at < until:
                _ended(found[event.tool or ""], uid, event, tries)
            tries = []


def _ended(told: _Tally, uid: str, result: BriefEvent, tries: list[BriefEvent]) -> None:
    verdict = verdict_of((result.native_kind or "").removeprefix(RESULT))
    told.calls += 1
    told.attempts += len(tries)
    if verdict == "pass":
        told.passed += 1
        told.first_try += len(tries) <= 1
        # Attempts name their model in the order they were made.
        told.models[(tries[-1].model if tries else None) or "-"] += 1
    elif verdict == "fail":
        told.failed += 1
        last = tries[-1] if tries else result
        failure = SkillFailure(last.summary or result.summary, 1, uid, result.event_uid)
        told.failures[fingerprint(failure.sample)].append(failure)


def _retro(skill: str, told: _Tally) -> SkillRetro:
    most = sorted(told.failures.values(), key=lambda some: (-len(some), some[0].sample))
    return SkillRetro(
        skill=skill,
        calls=told.calls,
        passed=told.passed,
        failed=told.failed,
        first_try=told.first_try,
        recovered=told.passed - told.first_try,
        attempts=told.attempts,
        models=dict(sorted(told.models.items())),
        failures=tuple(
            msgspec.structs.replace(some[-1], count=len(some)) for some in most[:MOST_FAILURES]
        ),
    )
