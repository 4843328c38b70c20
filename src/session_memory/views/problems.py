"""List lines and files that could not be read, with place and reason, and broken adapters."""

from collections import Counter
from typing import Any

import msgspec

from session_memory.collect.doctor import adapter_problems
from session_memory.config import Config
from session_memory.core.choices import no_such
from session_memory.store import Store
from session_memory.store.problems import Problem


class ProblemList(msgspec.Struct, frozen=True):
    """Problems. ``total`` and ``reasons`` count all matching ones, also beyond the limit.
    ``adapters`` names each adapter that is broken, with the reason."""

    problems: list[Problem]
    total: int
    reasons: dict[str, int]
    adapters: dict[str, str] = {}

    def to_dict(self) -> dict[str, Any]:
        broken = {"adapters": self.adapters} if self.adapters else {}
        return {
            "problems": [_to_dict(problem) for problem in self.problems],
            "total": self.total,
            "reasons": self.reasons,
            **broken,
        }


def list_problems(
    store: Store,
    config: Config,
    *,
    reason: str | None = None,
    text: str | None = None,
    limit: int = 0,
) -> ProblemList:
    """List problems, sorted by file and place in it. ``text`` matches anywhere in the path."""
    every = store.problems.every()
    known = sorted({problem.reason for problem in every})
    if reason is not None and known and reason not in known:
        raise no_such("reason", reason, known)
    problems = [
        problem
        for problem in every
        if reason in (None, problem.reason) and (text is None or text in problem.path)
    ]
    reasons = Counter(problem.reason for problem in problems)
    listed = problems[:limit] if limit else problems
    broken = adapter_problems(config)
    return ProblemList(listed, len(problems), dict(sorted(reasons.items())), broken)


def _to_dict(problem: Problem) -> dict[str, Any]:
    values = problem._asdict()
    values["offset"] = values.pop("place")
    return values
