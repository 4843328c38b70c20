"""Which sessions are there? All of them, or those a filter leaves."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.pricing import Amount, session_amounts
from session_memory.store import Store
from session_memory.views.lookup import short_names
from session_memory.views.matching import holds, is_like, names_model

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
            is_like(session.flavor, self.flavor)
            and is_like(session.host, self.host)
            and is_like(session.repo, self.repo)
            and is_like(session.domain, self.domain)
            and is_like(session.git_branch, self.branch)
            and names_model(session.model, self.model)
            and holds(session.title, self.text)
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
    there is. ``amounts`` is what each listed session used itself, if that was asked for."""

    sessions: list[Session]
    total: int
    stored: int
    names: dict[str, str]
    children: dict[str, int]
    flavors: dict[str, int]
    hosts: dict[str, int]
    amounts: dict[str, Amount]

    def to_dict(self) -> dict[str, Any]:
        return {
            "sessions": [session.to_dict() for session in self.sessions],
            "amounts": msgspec.to_builtins(self.amounts),
        }


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
SORTS = (*_KEYS, "oldest", "cost")


def list_sessions(
    store: Store,
    wanted: Filter,
    *,
    sort: str = "newest",
    limit: int = DEFAULT_LIMIT,
    priced: bool = False,
) -> SessionList:
    """The sessions ``wanted`` admits, the largest of ``sort`` first; ``limit`` 0 means all.

    What they cost is worked out if it is asked for.
    """
    stored = store.sessions.every()
    admitted = [session for session in stored if wanted.admits(session)]
    if sort == "oldest":
        admitted.sort(key=lambda session: session.started_at or "9999")
    elif sort == "cost":
        spent = session_amounts(store, [session.session_uid for session in admitted])
        admitted.sort(key=lambda session: -spent[session.session_uid].microdollars)
    elif sort != "newest":
        admitted.sort(key=_KEYS[sort], reverse=True)
    listed = admitted[:limit] if limit else admitted
    children = Counter(session.parent_uid for session in stored if session.parent_uid)
    return SessionList(
        sessions=listed,
        total=len(admitted),
        stored=len(stored),
        names=short_names(session.session_uid for session in stored),
        children=dict(children),
        flavors=dict(Counter(session.flavor for session in stored)),
        hosts=dict(Counter(session.host or "" for session in stored)),
        amounts=session_amounts(store, [s.session_uid for s in listed]) if priced else {},
    )
