"""Lines and files that could not be read, with place and reason."""

from collections import Counter
from typing import Any

import msgspec

from session_memory.store import Store
from session_memory.store.problems import Problem


class ProblemList(msgspec.Struct, frozen=True):
    """Problems. ``total`` and ``reasons`` count all matching ones, also beyond the limit."""

    problems: list[Problem]
    total: int
    reasons: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {
            "problems": [_to_dict(problem) for problem in self.problems],
            "total": self.total,
            "reasons": self.reasons,
        }


def list_problems(
    store: Store, *, reason: str | None = None, text: str | None = None, limit: int = 0
) -> ProblemList:
    """Problems sorted by file and place. ``text`` matches anywhere in the path."""
    problems = [
        problem
        for problem in store.problems.every()
        if reason in (None, problem.reason) and (text is None or text in problem.path)
    ]
    reasons = Counter(problem.reason for problem in problems)
    listed = problems[:limit] if limit else problems
    return ProblemList(listed, len(problems), dict(sorted(reasons.items())))


def _to_dict(problem: Problem) -> dict[str, Any]:
    values = problem._asdict()
    values["offset"] = values.pop("place")
    return values
