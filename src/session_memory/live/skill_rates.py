"""Pass rates of skills, computed from the store and from the entries that no sync collected yet.

The store keeps statuses as they were written; they are normalized here.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.errors import InvalidTime
from session_memory.core.schema import Entry
from session_memory.core.skills import ATTEMPT, FLAVOR, RESULT, label, verdict_of
from session_memory.core.text import short_repr
from session_memory.core.time import MIN_MS, now_ms, parse_time
from session_memory.live.skill_log import SkillLog
from session_memory.live.skill_uncollected import uncollected, usual_logs
from session_memory.store.store import Store

ALWAYS = "all"
FAST, SAMPLE, THINKING = "fast", "sample", "thinking"
FAST_FROM, THINKING_BELOW = 0.90, 0.70
FEWEST = 5
"""With fewer calls or attempts than this, the advice is ``sample``: try both kinds of model."""

_WINDOW = re.compile(r"(\d{1,6})\s*(min|h|d|w)")
_UNIT_MS = {"min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}

# The cross join makes SQLite start with the sessions of the skill log, which are few. It does not
# read the events of other sessions.
_COUNT = """
    select t.name, m.name, k.name, c.times, c.verified
    from (
        select e.tool, e.model, e.native_kind, count(*) as times,
            sum(case when e.exit_code = 0 then 1 else 0 end) as verified
        from sessions s
        cross join events e
        where s.flavor = :flavor and e.session_id = s.id and coalesce(e.ts, :always) >= :since
            and e.native_kind in (
                select id from names where name = :attempt or name like :result
            )
        group by e.tool, e.model, e.native_kind
    ) c
    join names t on t.id = c.tool
    join names k on k.id = c.native_kind
    left join names m on m.id = c.model
"""


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of a skill in a time window, with one model or with all.

    Calls and attempts are counted apart. A call (``passed``, ``failed``, ``skipped``, or ``other``
    for an unknown status) counts for the model that ended it. ``attempts`` counts attempts for the
    model that made them; ``verified`` counts those that a run confirmed.
    """

    skill: str
    window: str = ALWAYS
    model: str | None = None
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    other: int = 0
    attempts: int = 0
    verified: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped + self.other

    @property
    def pass_rate(self) -> float | None:
        """``passed / (passed + failed)``, or None without such calls."""
        finished = self.passed + self.failed
        return self.passed / finished if finished else None

    @property
    def try_rate(self) -> float | None:
        """``verified / attempts``, or None without attempts."""
        return self.verified / self.attempts if self.attempts else None

    @property
    def evidence(self) -> int:
        """The number of calls that the advice rests on: those that passed or failed.

        For one model, it is the number of its attempts if that is larger.
        """
        finished = self.passed + self.failed
        return finished if self.model is None else max(finished, self.attempts)

    @property
    def advice(self) -> str:
        """Which model to use: ``fast`` if the rate is high, ``thinking`` if low, else ``sample``.

        The rate is the number of good calls or attempts, divided by ``evidence``. For one model,
        attempts count as well: if an attempt fails, another model often ends the call.
        """
        if self.evidence < FEWEST:
            return SAMPLE
        # An attempt is good if a run confirmed it. If the output of a skill is never run, the calls
        # that passed count instead.
        good = self.passed if self.model is None else max(self.passed, self.verified)
        rate = good / self.evidence
        return FAST if rate >= FAST_FROM else THINKING if rate < THINKING_BELOW else SAMPLE

    def to_dict(self) -> dict[str, object]:
        return {
            "skill": self.skill,
            "window": self.window,
            "model": self.model,
            "pass": self.passed,
            "fail": self.failed,
            "skip": self.skipped,
            "other": self.other,
            "total": self.total,
            "pass_rate": self.pass_rate,
            "attempts": self.attempts,
            "verified": self.verified,
            "try_rate": self.try_rate,
            "evidence": self.evidence,
            "advice": self.advice,
        }


Logs = Sequence[SkillLog] | None


def pass_rate(
    store: Store,
    skill: str,
    window: str = ALWAYS,
    *,
    model: str | None = None,
    now: int | None = None,
    logs: Logs = None,
) -> PassRate:
    """The pass rate of ``skill`` within ``window`` before ``now``. ``logs``: see `pass_rates`."""
    name = label(skill)
    by = None if model is None else label(model)
    found = pass_rates(store, window, now=now, logs=logs)
    rates = [rate for rate in found if rate.skill == name and by in (None, rate.model)]
    return sum_rates(rates, PassRate(skill=name, window=window, model=by))


def route(
    store: Store, skill: str, window: str = ALWAYS, *, now: int | None = None, logs: Logs = None
) -> str:
    """``fast``, ``thinking`` or ``sample``: which kind of model to use for the skill."""
    return pass_rate(store, skill, window, now=now, logs=logs).advice


def pass_rates(
    store: Store, window: str = ALWAYS, *, now: int | None = None, logs: Logs = None
) -> list[PassRate]:
    """The pass rate of every skill with every model, sorted by the names of skill and model.

    ``window`` is a time until ``now``, such as ``7d``. Entries in ``logs`` that no sync has
    collected yet count, too. By default these are the logs that a sync collects; an empty list
    means the store alone.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    params = {"flavor": FLAVOR, "attempt": ATTEMPT, "result": f"{RESULT}%"}
    since = _since(window, now)
    with store.db.snapshot():
        # The rows and the place where the last sync stopped must be of one moment.
        rows = store.db.all(_COUNT, {**params, "always": MIN_MS, "since": since})
        waiting = list(uncollected(store, usual_logs() if logs is None else logs))
    for skill, model, kind, count, verified in rows:
        counts = found.setdefault((skill, model or ""), {})
        if kind == ATTEMPT:
            _add(counts, attempts=int(count), verified=int(verified))
        else:
            _add(counts, **{_FIELD[verdict_of(kind.removeprefix(RESULT))]: int(count)})
    for entry in waiting:
        if parse_time(entry.timestamp) >= since:
            _add_entry(found, entry)
    return [
        PassRate(skill=skill, window=window, model=model or None, **counts)
        for (skill, model), counts in sorted(found.items())
    ]


def _add_entry(found: dict[tuple[str, str], dict[str, int]], entry: Entry) -> None:
    """Count an entry as the store counts it once it is collected."""
    if not (entry.skill or entry.attempts or entry.final_status):
        return
    skill = label(entry.skill)
    tried = [attempt.model for attempt in entry.attempts]
    for attempt in entry.attempts:
        key = skill, label(attempt.model) if attempt.model else ""
        _add(found.setdefault(key, {}), attempts=1, verified=int(attempt.verified))
    last = entry.model_used or next(filter(None, reversed(tried)), "")
    key = skill, label(last) if last else ""
    _add(found.setdefault(key, {}), **{_FIELD[verdict_of(entry.final_status)]: 1})


_FIELD = {"pass": "passed", "fail": "failed", "skip": "skipped", "other": "other"}
_SUMMED = (*_FIELD.values(), "attempts", "verified")


def _add(counts: dict[str, int], **more: int) -> None:
    for name, number in more.items():
        counts[name] = counts.get(name, 0) + number


def sum_rates(rates: Iterable[PassRate], named: PassRate) -> PassRate:
    """The sum of ``rates``, with the skill, window and model of ``named``."""
    counts: dict[str, int] = {}
    for rate in rates:
        _add(counts, **{name: getattr(rate, name) for name in _SUMMED})
    return msgspec.structs.replace(named, **counts)


def _since(window: str, now: int | None) -> int:
    """The start of a window in milliseconds. A window is ``all``, ``30min``, ``12h``, ``7d``…"""
    if window == ALWAYS:
        return MIN_MS
    match = _WINDOW.fullmatch(window.strip().lower())
    if match is None:
        hint = "Write all, 30min, 12h, 7d or 2w."
        raise InvalidTime(f"invalid window {short_repr(window)}", hint, field="window")
    return (now_ms() if now is None else now) - int(match[1]) * _UNIT_MS[match[2]]
