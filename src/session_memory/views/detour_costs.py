"""Sum the cost of the problems that analysis found in the sessions of a period.

Problems may overlap, so their amounts must not be added up. ``basis`` says whether the tokens of a
problem were measured or estimated.
"""

import msgspec

from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.learn.detect import detectors
from session_memory.store import Store

MOST_SESSIONS = 5
_SIGNALS = """
    select type, basis, session_uid, sum(microdollars) from signals
    where polarity = 'problem' and microdollars > 0
        and (at >= :since and at < :until or at is null and :undated = 1)
    group by type, basis, session_uid
"""


class DetourCost(msgspec.Struct, frozen=True):
    """The cost of one sort of problem. ``dearest`` lists the sessions in which it cost most."""

    type: str
    title: str
    basis: str
    sessions: int
    microdollars: int
    dearest: list[tuple[str, int]]


def detour_costs(store: Store, since: int | None, until: int | None) -> list[DetourCost]:
    """Return what each sort of problem cost in the analyzed sessions of a period, dearest first."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    given = {
        "since": MIN_MS if since is None else since,
        "until": MAX_MS if until is None else until,
        "undated": int(since is None and until is None),
    }
    for kind, basis, uid, microdollars in store.db.all(_SIGNALS, given):
        found.setdefault((kind, basis), []).append((uid, int(microdollars)))
    known = detectors()
    rows = [
        DetourCost(
            type=kind,
            title=known[kind].title if kind in known else kind.replace("_", " "),
            basis=basis,
            sessions=len(some),
            microdollars=sum(amount for _, amount in some),
            dearest=sorted(some, key=lambda one: (-one[1], one[0]))[:MOST_SESSIONS],
        )
        for (kind, basis), some in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.microdollars, row.type))
