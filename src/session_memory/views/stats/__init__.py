"""Statistics about the work with agents. `docs/stats.md` defines every figure.

All sections of a report see the same state of the store.
"""

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from session_memory.core.time import format_time
from session_memory.search import Filters
from session_memory.store import Store
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope
from session_memory.views.evicted import count_evicted
from session_memory.views.matching import is_like, names_model
from session_memory.views.session_labels import SessionLabels, session_labels
from session_memory.views.stats import activity, tokens, work
from session_memory.views.stats.keeping import keep_statistics
from session_memory.views.stats.kept import KeptParts, plan, statistics_set
from session_memory.views.stats.parts import CountedParts, LocalDays
from session_memory.views.stats.queries import StatsParts, StatsQueries

DEFAULT_LIMIT = 10


class StatsFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects what is counted; None sets no condition. ``flavor`` and ``repo`` are names or
    patterns (``web*``); ``model`` matches any part of a name. ``limit`` is the greatest length of
    each list; 0 means all."""

    flavor: str | None = None
    repo: str | None = None
    model: str | None = None
    since: int | None = None
    until: int | None = None
    tz: tzinfo | None = None
    limit: int = DEFAULT_LIMIT


_SECTIONS: dict[str, Callable[[StatsQueries, StatsFilter], Any]] = {
    "summary": lambda queries, filters: activity.summary(queries),
    "activity": lambda queries, filters: activity.activity(queries, zone_name(filters.tz)),
    "agents": lambda queries, filters: activity.agents(queries, filters.limit),
    "repos": lambda queries, filters: activity.repos(queries, filters.limit),
    "tools": lambda queries, filters: work.tools(queries, filters.limit),
    "retries": lambda queries, filters: work.retries(queries, filters.limit),
    "tests": lambda queries, filters: work.tests(queries, filters.limit),
    "files": lambda queries, filters: work.files(queries, filters.limit),
    "time": lambda queries, filters: work.time(queries),
    "models": lambda queries, filters: tokens.models(queries, filters.limit),
    "cache": lambda queries, filters: tokens.cache(queries),
    "context": lambda queries, filters: tokens.context(queries),
    "sessions": lambda queries, filters: work.longest(queries, filters.limit),
}
SECTIONS = tuple(_SECTIONS)


# Sections that are made from usage, which an evicted session keeps.
FROM_USAGE = frozenset({"models", "cache"})


class StatsReport(msgspec.Struct, frozen=True):
    """A statistics report: ``sections`` by name, in the order of ``SECTIONS``. ``stored`` is the
    number of all sessions in the store. ``labels`` has names and titles of the listed sessions.
    ``evicted`` is the number of evicted sessions that match: their usage is counted, their events
    are not."""

    stored: int
    filters: StatsFilter
    sections: dict[str, Any]
    labels: SessionLabels
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        since, until = self.filters.since, self.filters.until
        selection = {
            "flavor": self.filters.flavor,
            "repo": self.filters.repo,
            "model": self.filters.model,
            "since": None if since is None else format_time(since),
            "until": None if until is None else format_time(until),
            "tz": zone_name(self.filters.tz),
        }
        built: dict[str, Any] = msgspec.to_builtins(self.sections)
        more = {"evicted": self.evicted} if self.evicted else {}
        return {"wanted": selection, **more, **built}


def statistics(
    store: Store, filters: StatsFilter, sections: Sequence[str] = SECTIONS
) -> StatsReport:
    """Make a statistics report with the given sections.

    If neither agents, repositories nor models are selected, missing sums are first saved in the
    store.
    """
    if not any((filters.flavor, filters.repo, filters.model)):
        keep_statistics(store, Scope(since=filters.since, until=filters.until), filters.tz)
    with store.db.snapshot():
        ask = Statistics(store.db)
        scope = _scope(ask, filters)
        queries = StatsQueries(ask, scope, _parts(store, ask, scope, filters.tz))
        found = {name: _SECTIONS[name](queries, filters) for name in SECTIONS if name in sections}
        listed = found["sessions"].rows if "sessions" in found else []
        labels = session_labels(store, {row.session_uid for row in listed})
        evicted = 0 if found.keys() <= FROM_USAGE else count_evicted(store, _as_search(filters))
        return StatsReport(store.sessions.count(), filters, found, labels, evicted)


def _parts(store: Store, ask: Statistics, scope: Scope, tz: tzinfo | None) -> StatsParts:
    days = LocalDays(tz)
    is_filtered = scope != Scope(since=scope.since, until=scope.until)
    known = None if is_filtered else statistics_set(store, tz)
    how = None if known is None else plan(store, scope, known)
    if how is None:
        return CountedParts(ask, scope, days)
    return KeptParts(store, how, ask, scope, days)


def _as_search(filters: StatsFilter) -> Filters:
    def names(one: str | None) -> tuple[str, ...]:
        return () if one is None else (one,)

    return Filters(
        flavors=names(filters.flavor),
        repos=names(filters.repo),
        models=names(filters.model),
        since=filters.since,
        until=filters.until,
    )


def facets(store: Store) -> tuple[list[str], list[str], list[str]]:
    """Return the flavors, repositories and models in the store, sorted."""
    flavors, repos, models = Statistics(store.db).facets()
    return sorted(flavors), sorted(repos), sorted(models)


def zone_name(tz: tzinfo | None) -> str:
    return "local" if tz is None else str(tz)


def _scope(ask: Statistics, filters: StatsFilter) -> Scope:
    # All sessions are read to find the names that a filter matches. Without a filter, none is read.
    is_filtered = any((filters.flavor, filters.repo, filters.model))
    flavors, repos, models = ask.facets() if is_filtered else (set(), set(), set())
    return Scope(
        flavors=_matching(flavors, filters.flavor, is_like),
        repos=_matching(repos, filters.repo, is_like),
        models=_matching(models, filters.model, names_model),
        since=filters.since,
        until=filters.until,
    )


def _matching(
    names: set[str], filters: str | None, fits: Callable[[str, str], bool]
) -> tuple[str, ...] | None:
    if filters is None:
        return None
    return tuple(sorted(name for name in names if fits(name, filters)))
