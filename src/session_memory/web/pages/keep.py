"""The page about keeping logs: what agents delete soon, the store's limits, checks, problems."""

from typing import Any

from starlette.responses import Response

from session_memory.config import this_host
from session_memory.core.time import now_ms
from session_memory.views.doctor import Check, examine, log_roots
from session_memory.views.figures import plural, size
from session_memory.views.retention import limits_sentence, retention_status
from session_memory.web.asked import Asked

MOST_PROBLEMS = 50
DAYS = 7
MANY_SESSIONS = 5000


def keep(asked: Asked) -> Response:
    store, config = asked.memory.store, asked.memory.config
    if asked.part == "checks":
        return asked.page("keep", **_checks(asked))
    roots = log_roots(config, store, this_host(config))
    problems = asked.memory.problems(limit=MOST_PROBLEMS)
    expiring = [(root, one) for root in roots for one in root.expiring]
    # In a very large store, the checks take longer than all else. So they are a request of their
    # own.
    waits = "now" not in asked.query and store.sessions.count() > MANY_SESSIONS
    return asked.page(
        "keep",
        roots=[
            {
                "agent": root.flavor,
                "path": root.path,
                "files": f"{root.files:,}",
                "bytes": size(root.bytes),
                "kept": f"{root.kept:,}",
                "days": f"after {plural(root.retention_days, 'day')}"
                if root.retention_days
                else "never by itself",
                "expiring": len(root.expiring),
                "at_risk": len(root.at_risk),
            }
            for root in roots
            if root.exists
        ],
        countdown=[
            (day, sum(one.days_left == day for _, one in expiring)) for day in range(DAYS + 1)
        ],
        at_risk=sum(not one.kept for _, one in expiring),
        total=len(expiring),
        problems=problems.to_dict(),
        **({"checks": None} if waits else _checks(asked)),
    )


def _checks(asked: Asked) -> dict[str, Any]:
    """Return what the store holds, its limits, and what `doctor` finds."""
    store, config = asked.memory.store, asked.memory.config
    diagnosis = examine(config, asked.memory.place, store, None, this_host(config))
    status = retention_status(store, config, now_ms())
    return {
        # Most agents are not used on a machine. One line names all that have no directory here.
        "checks": [one for one in diagnosis.checks if not _is_absence(one)],
        "absent": [one.text for one in diagnosis.checks if _is_absence(one)],
        "limits": limits_sentence(config.retention),
        "used": size(status.bytes),
        "soft": size(status.soft_cap),
        "hard": size(status.hard_cap),
        "evicted": status.evicted,
        "pinned": status.pinned,
    }


def _is_absence(check: Check) -> bool:
    return check.status == "ok" and check.name == "not found"
