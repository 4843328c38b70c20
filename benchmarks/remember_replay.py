"""A store as it was before each session began: it never holds what came later.

The logs are collected once as a whole, and each session's digest says what truly happened. Then a
second store grows: before a session is asked about, the logs of all sessions that ended before it
began are collected and analyzed there. The logs of its own family stay out until the last of the
family was asked: what it was forked or resumed from, its subagents, the plan that it carries out.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from session_memory import Memory
from session_memory.core.schema import SessionEvent
from session_memory.core.time import parse_time
from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import command_of
from session_memory.learn.digest import Digest, ErrorSnippet
from session_memory.learn.digests import digest_of
from session_memory.testing.collecting import collect
from session_memory.views.continuations import continued_in


class PastSession(msgspec.Struct, frozen=True):
    """A session with what is known about it now. ``began`` and ``ended`` are in milliseconds."""

    uid: str
    repo: str | None
    log: Path
    began: int
    ended: int
    is_asked: bool
    digest: Digest


class Past:
    """All sessions, their families, and the texts of their events."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._bodies = Bodies(memory.store)
        found = (self._session(session.uid) for session in memory.sessions(limit=0))
        self.sessions = sorted(
            (one for one in found if one is not None), key=lambda one: (one.began, one.uid)
        )
        self.by_uid = {one.uid: one for one in self.sessions}
        self.family = families(self._links())

    def _session(self, uid: str) -> PastSession | None:
        record, digest = self.memory.session(uid).record, digest_of(self.memory.store, uid)
        if digest is None or not record.started_at or not record.ended_at or not record.source_path:
            return None
        return PastSession(
            uid,
            record.repo,
            Path(record.source_path),
            parse_time(record.started_at),
            parse_time(record.ended_at),
            record.relation != "subagent",
            digest,
        )

    def _links(self) -> Iterator[tuple[str, str]]:
        for one in self.sessions:
            yield one.uid, one.digest.parent_uid or one.uid
            yield one.uid, continued_in(self.memory.store, one.digest) or one.uid

    def event(self, uid: str, event_uid: str) -> SessionEvent | None:
        row = self.memory.store.sessions.row(uid)
        events = self.memory.store.events.each_of(row.id, uid) if row else ()
        return next((event for event in events if event.event_uid == event_uid), None)

    def output(self, uid: str, error: ErrorSnippet) -> str:
        """What the agent saw when the error came first: the output of the call."""
        if error.origin == "report":
            return error.sample
        event = self.event(uid, error.event_uids[0])
        return (self.text(event) if event is not None else "") or error.sample

    def text(self, event: SessionEvent) -> str:
        return self._bodies.of(event).text

    def command(self, result: SessionEvent) -> str:
        """The shell command of a call, by its result; empty for other tools."""
        row = self.memory.store.sessions.row(result.session_uid)
        events = self.memory.store.events.each_of(row.id, result.session_uid) if row else ()
        for event in events:
            if event.call_id == result.call_id and event.role == "assistant" and event.call_id:
                return command_of(event.tool or "", self._bodies.of(event).arguments) or ""
        return ""


def families(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each uid one name of its family: sessions that are linked, directly or through others."""
    above: dict[str, str] = {}

    def top(uid: str) -> str:
        while above.setdefault(uid, uid) != uid:
            uid = above[uid]
        return uid

    for one, other in links:
        above[top(one)] = top(other)
    return {uid: top(uid) for uid in list(above)}


class Replay:
    """The growing store. ``known`` are the sessions that are in it."""

    def __init__(self, past: Past, logs: Path, scratch: Path) -> None:
        self._past, self._logs, self._home = past, logs, scratch / "home"
        self._home.mkdir(parents=True)
        self.path = scratch / "replay.db"
        self.memory = Memory(self.path, durability="normal")
        self.known: list[PastSession] = []

    def moments(self) -> Iterator[PastSession]:
        """Each session that is asked about, at the moment before it begins."""
        family = self._past.family
        left = defaultdict[str, int](int)
        for one in self._past.sessions:
            left[family[one.uid]] += one.is_asked
        waiting = sorted(self._past.sessions, key=lambda one: (one.ended, one.uid))
        for one in self._past.sessions:
            if not one.is_asked:
                continue
            ended = [
                past for past in waiting if past.ended < one.began and not left[family[past.uid]]
            ]
            self._add(ended)
            waiting = [past for past in waiting if past not in ended]
            yield one
            left[family[one.uid]] -= 1

    def _add(self, sessions: list[PastSession]) -> None:
        for one in sessions:
            place = self._home / one.log.relative_to(self._logs)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one.log, place)
        if sessions:
            collect(self.memory.store, self._home)
            self.memory.analyze()
            self.known += sessions

    def known_of(self, repo: str | None) -> list[PastSession]:
        """The known sessions of a repository, the newest first."""
        return sorted(
            (one for one in self.known if one.repo == repo), key=lambda one: (-one.ended, one.uid)
        )
