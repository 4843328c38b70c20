"""Filters of a search: properties of the session and of the event."""

from fnmatch import fnmatchcase

import msgspec

from session_memory.store.hits import Hit, HitSession
from session_memory.store.index import CLASSES

TITLE = "title"


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Every filter must match. With several values, one of them must match.

    Models and files match by a part of their name, everything else by the name or a pattern.
    """

    flavors: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None

    @property
    def is_about_events(self) -> bool:
        """Whether a filter excludes titles, which have no kind, tool or file."""
        return bool(self.kinds or self.tools or self.files)

    @property
    def is_about_sessions(self) -> bool:
        given = (self.flavors, self.repos, self.outcomes, self.branches, self.sessions)
        return any(given)

    @property
    def is_any(self) -> bool:
        times = self.since is not None or self.until is not None
        return times or bool(self.models) or self.is_about_events or self.is_about_sessions

    @property
    def text_classes(self) -> list[int]:
        return [
            text_class
            for text_class, name in enumerate(CLASSES)
            if not self.classes or name in self.classes
        ]

    @property
    def with_titles(self) -> bool:
        return not self.is_about_events and (not self.classes or TITLE in self.classes)

    def holds_for_session(self, session: HitSession) -> bool:
        return (
            _among(session.flavor, self.flavors)
            and _among(session.repo, self.repos)
            and _among(session.outcome, self.outcomes)
            and _among(session.git_branch, self.branches)
            and (not self.sessions or session.uid in self.sessions)
        )

    def holds_for_title(self, session: HitSession) -> bool:
        """Whether a title matches. It has the time and the model of its session."""
        return (
            self.holds_for_session(session)
            and _part_of(session.model, self.models)
            and self._in_time(session.ended_at or session.started_at)
        )

    def may_hold_for_evicted(self, session: HitSession) -> bool:
        """Whether events of an evicted session could match. Nothing is known of each event."""
        begin, end = session.started_at or 0, session.ended_at or session.started_at or 0
        return (
            bool(self.text_classes)
            and self.holds_for_session(session)
            and _part_of(session.model, self.models)
            and (self.since is None or end >= self.since)
            and (self.until is None or begin < self.until)
        )

    def holds_for_event(self, hit: Hit, session: HitSession) -> bool:
        return (
            (not self.kinds or any(kind in hit.kinds for kind in self.kinds))
            and _among(hit.tool, self.tools)
            and (not self.files or _part_of(hit.path, self.files))
            and (not self.models or _part_of(hit.model or session.model, self.models))
            and self._in_time(hit.ts if hit.ts is not None else session.started_at)
        )

    def _in_time(self, ts: int | None) -> bool:
        if self.since is None and self.until is None:
            return True
        if ts is None:
            return False
        after = self.since is None or ts >= self.since
        return after and (self.until is None or ts < self.until)


def _among(value: str | None, patterns: tuple[str, ...]) -> bool:
    """Whether ``value`` is one of the names or matches a pattern such as ``web*``."""
    return not patterns or any(
        fnmatchcase((value or "").casefold(), name.casefold())
        for name in patterns
        if value is not None
    )


def _part_of(value: str | None, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(name.casefold() in (value or "").casefold() for name in patterns)
