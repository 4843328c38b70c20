"""What narrows a search down: what the session is, and what the event is."""

from fnmatch import fnmatchcase

import msgspec

from session_memory.store.hits import Hit, HitSession
from session_memory.store.index import CLASSES

TITLE = "title"


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is given has to hold. Of several values for one thing, any will do.

    Models and files are known by a part, everything else by its name or a pattern.
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
        """A title is no event: it has no kind, tool, file or time of its own."""
        return bool(self.kinds or self.tools or self.files)

    @property
    def is_about_sessions(self) -> bool:
        told = (self.flavors, self.repos, self.outcomes, self.branches, self.sessions)
        return any(told)

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
        """A session's time and model stand for its title's."""
        return (
            self.holds_for_session(session)
            and _part_of(session.model, self.models)
            and self._in_time(session.ended_at or session.started_at)
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


def _among(value: str | None, wanted: tuple[str, ...]) -> bool:
    """Names or patterns (``web*``)."""
    return not wanted or any(
        fnmatchcase((value or "").lower(), name.lower()) for name in wanted if value is not None
    )


def _part_of(value: str | None, wanted: tuple[str, ...]) -> bool:
    return not wanted or any(name.lower() in (value or "").lower() for name in wanted)
