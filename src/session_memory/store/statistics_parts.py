"""The parts that replace ``{placeholders}`` in the SQL of statistics, for both databases."""

from collections.abc import Iterable

import msgspec

from session_memory.store.database import Database
from session_memory.store.figures import listed

QUARTER_MS = 15 * 60 * 1000
# Integer division rounds towards zero. Adding this first makes it correct for times before 1970.
SHIFT = 100_000_000
CAP_MS = 30 * 60 * 1000
"""Only so much of a wait is counted as waiting. The rest of a longer wait is counted separately."""
BANDS = ((1, 1), (2, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, None))
"""Ranges of the number of a response in its session, to show how contexts grow."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted. ``None`` means no filter; an empty tuple matches nothing.

    ``models`` filters sessions by their model, and responses by their own model. ``ids`` are ids of
    rows in the table of sessions. The period is ``since <= time < until``. An event without a time
    has the time of its session's start.
    """

    ids: tuple[int, ...] | None = None
    uids: tuple[str, ...] | None = None
    flavors: tuple[str, ...] | None = None
    repos: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None


def bands() -> str:
    return " ".join(
        f"when c.number >= {first}{'' if last is None else f' and c.number <= {last}'} then {place}"
        for place, (first, last) in enumerate(BANDS)
    )


def is_among(column: str, values: Iterable[str] | None, name: str, given: dict[str, object]) -> str:
    if values is None:
        return "1 = 1"
    named = {f"{name}_{place}": value for place, value in enumerate(values)}
    given.update(named)
    return f"{column} in ({', '.join(f':{key}' for key in named)})" if named else "1 = 0"


def is_one_of(column: str, ids: Iterable[int] | None) -> str:
    return "1 = 1" if ids is None else f"{column} in ({listed(ids)})"


class MomentPart:
    """``{moment:e}``: the time of event ``e``, or the start of its session ``s`` if it has none.

    A column such as ``s.started_at`` is used as it is.
    """

    def __format__(self, of: str) -> str:
        return of if "." in of else f"coalesce({of}.ts, s.started_at)"


class PeriodPart:
    """``{within:e}``: a condition that the time of ``e`` is in the period."""

    def __init__(self, scope: Scope, given: dict[str, object]) -> None:
        ends = {"since": (">=", scope.since), "until": ("<", scope.until)}
        self._ends = {name: sign for name, (sign, ms) in ends.items() if ms is not None}
        given.update({name: ms for name, (_, ms) in ends.items() if ms is not None})

    def __format__(self, of: str) -> str:
        moment = f"{MomentPart():{of}}"
        return (
            " and ".join(f"{moment} {sign} :{name}" for name, sign in self._ends.items()) or "1 = 1"
        )


class QuarterPart:
    """``{quarter:e}``: the number of the quarter of an hour since 1970, plus ``SHIFT``."""

    def __format__(self, of: str) -> str:
        return f"({MomentPart():{of}} + {SHIFT * QUARTER_MS}) / {QUARTER_MS}"


class KindPart:
    """``{edit:e}``: a condition that event ``e`` is an edit, by its kind or one of its marks."""

    def __init__(self, numbers: list[int]) -> None:
        self._in = f"in ({', '.join(map(str, numbers)) or '-1'})"

    def __format__(self, alias: str) -> str:
        return f"({alias}.kind {self._in} or {alias}.marks {self._in})"


_KINDS = (
    *("user_msg", "completion", "tool_call", "tool_result", "edit", "retry", "error", "test_run"),
    *("human_intervention", "decision", "lifecycle"),
)


def kind_conditions(db: Database) -> dict[str, object]:
    """Kind → condition, and role → number.

    Marks are stored as one name, joined by commas. So a kind may occur in several names.
    """
    numbers: dict[str, list[int]] = {kind: [] for kind in _KINDS}
    roles = {"assistant": -1, "user": -1}
    for number, name in db.all("select id, name from names"):
        for word in name.split(","):
            if word in numbers:
                numbers[word].append(number)
        if name in roles:
            roles[name] = number
    return {**{kind: KindPart(some) for kind, some in numbers.items()}, **roles}
