"""How work with agents goes, in figures; each defined in `docs/stats.md` and counted once.

A report is of one moment: all its sections see the same state of the store.
"""

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from session_memory.core.time import format_time
from session_memory.store import Store
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope
from session_memory.views.matching import is_like, names_model
from session_memory.views.short_names import short_names
from session_memory.views.stats import activity, tokens, work
from session_memory.views.stats.passes import Passes

DEFAULT_LIMIT = 10


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to count; ``None`` asks for nothing. ``flavor`` and ``repo`` are names or patterns
    (``web*``), ``model`` matches anywhere. ``limit`` is of every list; 0 means all."""

    flavor: str | None = None
    repo: str | None = None
    model: str | None = None
    since: int | None = None
    until: int | None = None
    tz: tzinfo | None = None
    limit: int = DEFAULT_LIMIT


_SECTIONS: dict[str, Callable[[Passes, Wanted], Any]] = {
    "summary": lambda passes, wanted: activity.summary(passes),
    "activity": lambda passes, wanted: activity.activity(passes, zone_name(wanted.tz)),
    "agents": lambda passes, wanted: activity.agents(passes, wanted.limit),
    "repos": lambda passes, wanted: activity.repos(passes, wanted.limit),
    "tools": lambda passes, wanted: work.tools(passes, wanted.limit),
    "retries": lambda passes, wanted: work.retries(passes, wanted.limit),
    "tests": lambda passes, wanted: work.tests(passes, wanted.limit),
    "files": lambda passes, wanted: work.files(passes, wanted.limit),
    "time": lambda passes, wanted: work.time(passes),
    "models": lambda passes, wanted: tokens.models(passes, wanted.limit),
    "cache": lambda passes, wanted: tokens.cache(passes),
    "context": lambda passes, wanted: tokens.context(passes),
    "sessions": lambda passes, wanted: work.longest(passes, wanted.limit),
}
SECTIONS = tuple(_SECTIONS)


class Report(msgspec.Struct, frozen=True):
    """``sections`` by name, in the order of ``SECTIONS``; ``stored`` counts all sessions there
    are, whatever was asked for; ``names`` are short ones of the sessions in it."""

    stored: int
    wanted: Wanted
    sections: dict[str, Any]
    names: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        since, until = self.wanted.since, self.wanted.until
        told = {
            "flavor": self.wanted.flavor,
            "repo": self.wanted.repo,
            "model": self.wanted.model,
            "since": None if since is None else format_time(since),
            "until": None if until is None else format_time(until),
            "tz": zone_name(self.wanted.tz),
        }
        built: dict[str, Any] = msgspec.to_builtins(self.sections)
        return {"wanted": told, **built}


def statistics(store: Store, wanted: Wanted, sections: Sequence[str] = SECTIONS) -> Report:
    """The sections asked for."""
    ask = Statistics(store.db)
    with store.db.snapshot():
        passes = Passes(ask, _scope(ask, wanted), wanted.tz)
        found = {name: _SECTIONS[name](passes, wanted) for name in SECTIONS if name in sections}
        listed = found["sessions"].rows if "sessions" in found else []
        names = short_names(store, {row.session_uid for row in listed})
        return Report(store.sessions.count(), wanted, found, names)


def facets(store: Store) -> tuple[list[str], list[str], list[str]]:
    """The flavors, repositories and models that can be asked for, sorted."""
    flavors, repos, models = Statistics(store.db).facets()
    return sorted(flavors), sorted(repos), sorted(models)


def zone_name(tz: tzinfo | None) -> str:
    return "local" if tz is None else str(tz)


def _scope(ask: Statistics, wanted: Wanted) -> Scope:
    flavors, repos, models = ask.facets()
    return Scope(
        flavors=_matching(flavors, wanted.flavor, is_like),
        repos=_matching(repos, wanted.repo, is_like),
        models=_matching(models, wanted.model, names_model),
        since=wanted.since,
        until=wanted.until,
    )


def _matching(
    names: set[str], wanted: str | None, fits: Callable[[str, str], bool]
) -> tuple[str, ...] | None:
    if wanted is None:
        return None
    return tuple(sorted(name for name in names if fits(name, wanted)))
