"""Which sessions are there? All of them, or those a filter leaves."""

from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.store import Store
from session_memory.views.lookup import short_names

DEFAULT_LIMIT = 20


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What a session must have to be listed; ``None`` asks for nothing.

    ``repo``, ``domain``, ``branch``, ``flavor`` and ``host`` are names or patterns (``web*``);
    ``model`` and ``text`` match anywhere. A session lies in a period if any moment of it does.
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
    roots: bool = False
    since: int | None = None
    until: int | None = None

    def admits(self, session: Session) -> bool:
        return (
            _is_like(session.flavor, self.flavor)
            and _is_like(session.host, self.host)
            and _is_like(session.repo, self.repo)
            and _is_like(session.domain, self.domain)
            and _is_like(session.git_branch, self.branch)
            and _holds(session.model, self.model)
            and _holds(session.title, self.text)
            and self.outcome in (None, session.outcome)
            and self.parent in (None, session.parent_uid)
            and not (self.roots and session.relation == "subagent")
            and self._is_in_period(session)
        )

    def _is_in_period(self, session: Session) -> bool:
        if self.since is None and self.until is None:
            return True
        started, ended = session.started_at or session.ended_at, session.ended_at
        if started is None or ended is None:
            return False
        return (self.since is None or parse_time(ended) >= self.since) and (
            self.until is None or parse_time(started) < self.until
        )


class SessionList(msgspec.Struct, frozen=True):
    """``total`` counts what the filter admits, ``stored``, ``flavors`` and ``hosts`` everything
    there is."""

    sessions: list[Session]
    total: int
    stored: int
    names: dict[str, str]
    children: dict[str, int]
    flavors: dict[str, int]
    hosts: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {"sessions": [session.to_dict() for session in self.sessions]}


def _tokens(session: Session) -> int:
    cost = session.cost
    return cost.input_tokens + cost.output_tokens + cost.cache_tokens


_KEYS: dict[str, Callable[[Session], Any]] = {
    "newest": lambda session: session.ended_at or "",
    "tokens": _tokens,
    "output": lambda session: session.cost.output_tokens,
    "turns": lambda session: session.cost.turns,
    "time": lambda session: session.cost.wall_clock_s,
    "size": lambda session: session.source_bytes,
}
SORTS = (*_KEYS, "oldest")


def list_sessions(
    store: Store, wanted: Filter, *, sort: str = "newest", limit: int = DEFAULT_LIMIT
) -> SessionList:
    """The sessions ``wanted`` admits, the largest of ``sort`` first; ``limit`` 0 means all."""
    stored = store.sessions.every()
    admitted = [session for session in stored if wanted.admits(session)]
    if sort == "oldest":
        admitted.sort(key=lambda session: session.started_at or "9999")
    elif sort != "newest":
        admitted.sort(key=_KEYS[sort], reverse=True)
    children = Counter(session.parent_uid for session in stored if session.parent_uid)
    return SessionList(
        sessions=admitted[:limit] if limit else admitted,
        total=len(admitted),
        stored=len(stored),
        names=short_names(session.session_uid for session in stored),
        children=dict(children),
        flavors=dict(Counter(session.flavor for session in stored)),
        hosts=dict(Counter(session.host or "" for session in stored)),
    )


def _is_like(value: str | None, pattern: str | None) -> bool:
    if pattern is None:
        return True
    return value is not None and fnmatchcase(value.casefold(), pattern.casefold())


def _holds(value: str | None, part: str | None) -> bool:
    if part is None:
        return True
    return value is not None and part.casefold() in value.casefold()
