"""The events of a watch, ready to be written as JSON lines (docs/watch.md).

Fields are added, never renamed or removed: other programs read these lines.
"""

from typing import Any

import msgspec

from session_memory.collect.discover import Root
from session_memory.core.time import format_time
from session_memory.store.sessions import CollectedSession


class WatchEvent(msgspec.Struct, kw_only=True, tag_field="event"):
    """Something that happened. ``at`` is the time on this machine, in milliseconds."""

    at: int

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return {**fields, "at": format_time(self.at)}


class Started(WatchEvent, tag="started"):
    """The watch has started. ``polling`` is the reason why there are no file events, or empty."""

    store: str
    host: str
    roots: list[Root]
    polling: str


class Synced(WatchEvent, tag="synced"):
    """A sync ended, and its news are stored. ``whole``: it looked at everything, not some paths."""

    whole: bool
    sources: int
    sessions: int
    events: int
    bytes: int
    problems: int
    vanished: int
    seconds: float

    @property
    def is_news(self) -> bool:
        return any((self.sessions, self.bytes, self.problems, self.vanished))


class SessionChanged(WatchEvent, tag="session"):
    """A session has grown, or is new. ``last_event_at`` is a time from its log."""

    session_uid: str
    flavor: str
    is_new: bool
    new_events: int
    events: int
    input_tokens: int
    output_tokens: int
    cache_tokens: int
    repo: str | None
    git_branch: str | None
    model: str | None
    title: str | None
    parent_uid: str | None
    last_event_at: str | None

    @classmethod
    def of(cls, row: CollectedSession, before: int, at: int) -> "SessionChanged":
        return cls(
            at=at,
            session_uid=row.uid,
            flavor=row.flavor,
            is_new=not before,
            new_events=row.event_count - before,
            events=row.event_count,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cache_tokens=row.cache_read_tokens + row.cache_write_tokens,
            repo=row.repo,
            git_branch=row.git_branch,
            model=row.model,
            title=row.title,
            parent_uid=row.parent_uid,
            last_event_at=None if row.ended_at is None else format_time(row.ended_at),
        )


class ProblemFound(WatchEvent, tag="problem"):
    """A part of a log could not be read: its file, its byte offset, and the reason."""

    path: str
    place: int
    reason: str
    detail: str


class WatchError(WatchEvent, tag="error"):
    """The store was lost, there are no file events, an adapter is broken, or other work failed.

    ``retry_in``: seconds until a new try.
    """

    kind: str
    message: str
    hint: str | None
    retry_in: float | None


class SessionsAnalyzed(WatchEvent, tag="analyzed"):
    """Sessions were analyzed. ``waiting``: how many are still to be analyzed."""

    sessions: int
    waiting: int
    seconds: float


class RetentionRan(WatchEvent, tag="retained"):
    """Retention ran. ``report`` has the figures of ``retain --json``."""

    report: dict[str, Any]
    archive: str | None


class RetroWritten(WatchEvent, tag="retro"):
    """The retrospective of a week was written to a new file."""

    path: str
    since: str
    until: str


class Idle(WatchEvent, tag="idle"):
    """A step of the watch ended: it waited for changes and read them. Never written as JSON."""


class Stopped(WatchEvent, tag="stopped"):
    """The watch has ended. The figures are sums over its whole time."""

    batches: int = 0
    sources: int = 0
    sessions: int = 0
    events: int = 0
    bytes: int = 0
    problems: int = 0

    def add(self, synced: Synced) -> None:
        self.batches += synced.is_news
        for name in ("sources", "events", "bytes", "problems"):
            setattr(self, name, getattr(self, name) + getattr(synced, name))
