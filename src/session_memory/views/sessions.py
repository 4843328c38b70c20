"""List the sessions in the store: all of them, or those that a filter admits."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from session_memory.core.schema import Session
from session_memory.pricing import Amount, session_amounts
from session_memory.pricing.figure_sets import keep_figures
from session_memory.pricing.kept_costs import kept_costs
from session_memory.pricing.sessions import family, subagents
from session_memory.store import Store
from session_memory.store.session_pages import ORDERS, SessionConditions, SessionPages
from session_memory.views.cost_days import offsets
from session_memory.views.known_names import check_flavors
from session_memory.views.matching import is_like, names_model
from session_memory.views.session_titles import best_titles, sessions_titled
from session_memory.views.short_names import short_names
from session_memory.views.tasks import sessions_with_task

DEFAULT_LIMIT = 20
SORTS = (*ORDERS, "cost")
# Field of a filter -> field of the database conditions, and the function that compares a value.
_NAMES: dict[str, tuple[str, Callable[[str, str], bool]]] = {
    "flavor": ("flavors", is_like),
    "host": ("hosts", is_like),
    "repo": ("repos", is_like),
    "domain": ("domains", is_like),
    "branch": ("branches", is_like),
    "model": ("models", names_model),
}


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What a session must have to be listed. A field with ``None`` sets no condition.

    - ``repo``, ``domain``, ``branch``, ``flavor``, ``host``: names or patterns (``web*``)
    - ``model``: any part of the model's name; ``text``: any part of the title that the list shows
    - ``since``, ``until``: a session matches if any moment of it is in the period
    - ``min_cost``: in micro-dollars, of the session without its subagents
    - ``task``: the name of a task, see `views.tasks`
    - ``roots``: leave out all subagents
    - ``folded``: leave out subagents whose parent is listed. Of subagents whose common parent is
      not in the store, only the newest is listed.
    """

    flavor: str | None = None
    host: str | None = None
    repo: str | None = None
    domain: str | None = None
    branch: str | None = None
    model: str | None = None
    outcome: str | None = None
    text: str | None = None
    parent: str | None = None
    task: str | None = None
    roots: bool = False
    folded: bool = False
    since: int | None = None
    until: int | None = None
    min_cost: int | None = None


class Fold(msgspec.Struct, frozen=True):
    """The subagents that a listed session stands for: those below it, and its siblings if their
    parent is not in the store. ``amount`` is their cost together, if the caller asked for costs."""

    sessions: int
    amount: Amount


class SessionList(msgspec.Struct, frozen=True):
    """One page of a list of sessions.

    - ``total``: how many sessions match the filter; ``stored``: how many the store has
    - ``names``, ``titles``, ``children``: short id, best title and number of children of each
      listed session
    - ``amounts``: what each listed session cost without subagents, if the caller asked for it
    - ``folded``: if subagents are folded, how many are left out on all pages; ``folds``: those of
      the listed sessions
    """

    sessions: list[Session]
    total: int
    stored: int
    names: dict[str, str]
    titles: dict[str, str]
    children: dict[str, int]
    amounts: dict[str, Amount]
    folded: int = 0
    folds: dict[str, Fold] = {}

    def to_dict(self) -> dict[str, Any]:
        return {
            "sessions": [session.to_dict() for session in self.sessions],
            "amounts": msgspec.to_builtins(self.amounts),
        }


def list_sessions(
    store: Store,
    filters: Filter,
    *,
    sort: str = "newest",
    limit: int = DEFAULT_LIMIT,
    priced: bool = False,
) -> SessionList:
    """List the sessions that ``filters`` admits, in the order ``sort``; ``limit`` 0 means all.

    With ``priced``, the result has the cost of each listed session. Only the listed sessions are
    read, unless they are filtered or sorted by cost: then all that the other filters admit may be
    priced.
    """
    pages, conditions = SessionPages(store.db), conditions_of(store, filters)
    if sort == "cost" or filters.min_cost is not None:
        listed, total = _by_cost(store, pages, conditions, filters, sort, limit)
    else:
        listed, total = pages.page(conditions, sort, limit), pages.count(conditions)
    uids = [session.session_uid for session in listed]
    folds = folded_below(store, pages, listed) if filters.folded else {}
    members = [uid for some in folds.values() for uid in some]
    amounts = session_amounts(store, [*uids, *members]) if priced else {}
    return SessionList(
        sessions=listed,
        total=total,
        stored=store.sessions.count(),
        names=short_names(store, uids),
        titles=best_titles(store, uids),
        children=pages.children(uids),
        amounts={uid: amounts[uid] for uid in uids if priced},
        folded=_number_folded(store, pages, conditions, filters, total),
        folds={
            uid: Fold(len(some), sum((amounts.get(one, Amount()) for one in some), Amount()))
            for uid, some in folds.items()
        },
    )


def folded_below(store: Store, pages: SessionPages, listed: list[Session]) -> dict[str, list[str]]:
    """Return the uids of the subagents that each listed session stands for, at any depth."""
    siblings = pages.orphans(
        session.parent_uid
        for session in listed
        if session.relation == "subagent" and session.parent_uid is not None
    )
    roots = {
        session.session_uid: [session.session_uid, *siblings.get(session.parent_uid or "", ())]
        for session in listed
    }
    below = subagents(store, [uid for some in roots.values() for uid in some])
    members = {
        own: dict.fromkeys(uid for root in some for uid in family(root, below))
        for own, some in roots.items()
    }
    return {
        own: [uid for uid in some if uid != own] for own, some in members.items() if len(some) > 1
    }


def _number_folded(
    store: Store, pages: SessionPages, conditions: SessionConditions, filters: Filter, total: int
) -> int:
    """Count the subagents that are left out of the list because they are folded."""
    if not filters.folded or filters.min_cost is None:
        return pages.count_folded(conditions) if filters.folded else 0
    every = pages.uids(msgspec.structs.replace(conditions, folded=False))
    spent = session_amounts(store, every).values()
    return sum(amount.microdollars >= filters.min_cost for amount in spent) - total


def each_session(store: Store, filters: Filter, sort: str = "newest") -> Iterator[Session]:
    """Iterate over the sessions that a filter admits. Each is read when it is needed, unless they
    are filtered or sorted by cost."""
    if sort == "cost" or filters.min_cost is not None:
        return iter(list_sessions(store, filters, sort=sort, limit=0).sessions)
    return SessionPages(store.db).each(conditions_of(store, filters), sort)


def session_uids(store: Store, filters: Filter) -> list[str]:
    """Return the uids of all sessions that a filter admits, newest first."""
    if filters.min_cost is not None:
        return [session.session_uid for session in each_session(store, filters)]
    return SessionPages(store.db).uids(conditions_of(store, filters))


def _by_cost(
    store: Store,
    pages: SessionPages,
    conditions: SessionConditions,
    filters: Filter,
    sort: str,
    limit: int,
) -> tuple[list[Session], int]:
    if sort == "cost" and filters.min_cost is None and limit:
        dearest = _dearest(store, pages, conditions, limit)
        if dearest is not None:
            return dearest, pages.count(conditions)
    least = filters.min_cost or 0
    spent = session_amounts(store, pages.uids(conditions))
    uids = [uid for uid, amount in spent.items() if amount.microdollars >= least]
    if sort == "cost":
        uids.sort(key=lambda uid: -spent[uid].microdollars)
        found = (store.sessions.get(uid) for uid in (uids[:limit] if limit else uids))
        return [session for session in found if session is not None], len(uids)
    admitted = set(uids)
    sessions = (one for one in pages.each(conditions, sort) if one.session_uid in admitted)
    return [one for _, one in zip(range(limit or len(uids)), sessions, strict=False)], len(uids)


def _dearest(
    store: Store, pages: SessionPages, conditions: SessionConditions, limit: int
) -> list[Session] | None:
    """Return the dearest sessions by the costs saved in the store; None if there are none saved."""
    clock = offsets(None)
    keep_figures(store, clock)
    with store.db.snapshot():
        costs = kept_costs(store, clock)
        if costs is None:
            return None
        found = pages.dearest(conditions, limit, costs.set_id, costs.changed)
        changed = pages.uids(conditions, costs.changed) if costs.changed else []
        amounts = session_amounts(store, changed)
        found += [(uid, amount.microdollars) for uid, amount in amounts.items()]
        sessions = [(cost, store.sessions.get(uid)) for uid, cost in found]
    listed = [(cost, one) for cost, one in sessions if one is not None]
    listed.sort(key=lambda pair: pair[1].session_uid)
    listed.sort(key=lambda pair: (pair[0], pair[1].ended_at or ""), reverse=True)
    return [one for _, one in listed[:limit]]


def conditions_of(store: Store, filters: Filter) -> SessionConditions:
    """Turn a filter into conditions for the database: each pattern becomes the list of the stored
    names that match it."""
    pages = SessionPages(store.db)
    exact: dict[str, tuple[str, ...]] = {}
    for name, (several, matches) in _NAMES.items():
        pattern = getattr(filters, name)
        if pattern is not None:
            exact[several] = tuple(v for v in pages.values(several) if matches(v, pattern))
    if not exact.get("flavors", ("any",)):
        check_flavors(store, filters.flavor)
    # Titles are compared here, because a database may ignore case only for ASCII letters.
    ids = None if filters.text is None else tuple(sessions_titled(store, filters.text))
    if filters.task is not None:
        with_task = sessions_with_task(store, filters.task)
        ids = tuple(with_task if ids is None else sorted({*ids}.intersection(with_task)))
    return SessionConditions(
        ids=ids,
        outcome=filters.outcome,
        parent=filters.parent,
        roots=filters.roots,
        folded=filters.folded,
        since=filters.since,
        until=filters.until,
        **exact,
    )
