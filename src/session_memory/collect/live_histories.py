"""Read sessions of other runtimes as histories that a live session can continue.

A session is read from its stored logs, or from the files of its runtime, which are not changed.
"""

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import SourceRef
from session_memory.adapters.registry import agent_or_substitute, agents
from session_memory.collect.database_copies import copied_database
from session_memory.collect.native import opened
from session_memory.core.errors import (
    AdapterFailed,
    SourceUnreadable,
    StoreDamaged,
    UnknownSession,
)
from session_memory.core.history import History
from session_memory.core.ids import split_uid
from session_memory.core.roles import DOCUMENT, LOG
from session_memory.derive.live_sources import is_table
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


def importable_flavors() -> list[str]:
    """The agents whose sessions can continue as live sessions."""
    return [agent.flavor for agent in agents() if agent.history is not None]


def collected_history(store: Store, uid: str) -> History:
    """Return the history of a collected session, read from its stored logs.

    If the session was collected from several places, such as a home and a copy of it, this is the
    longest of its histories.
    """
    row = store.sessions.row(uid)
    if row is None:
        raise UnknownSession(uid)
    flavor, native = split_uid(uid)
    agent = agent_or_substitute(flavor)
    if agent.history is None:
        reason = agent.problem or f"sessions of {flavor} cannot go on as live sessions"
        raise SourceUnreadable(uid, reason)
    found = []
    for sources in _copies(sources_of(store, row.id)):
        history = agent.history(*_stored(store, sources), row.native_name or native, uid)
        found.append(with_settings(history, settings_at(agent, sources)))
    return max(found, key=_length)


def collected_histories(store: Store, uids: list[str]) -> Iterator[History | SourceUnreadable]:
    """Yield the histories of collected sessions, or an error for each session that cannot be read.

    A log that several sessions share is read once.
    """
    logs: dict[tuple[str, int], _SharedLog] = {}
    copied: dict[str, list[History]] = {}
    for uid in uids:
        row = store.sessions.row(uid)
        if row is None:
            continue
        if row.evicted_at is not None:
            yield SourceUnreadable(uid, "its log was evicted; restore it first")
            continue
        copies = _copies(sources_of(store, row.id))
        firsts = [next((one.id for one in copy if one.role == LOG), 0) for copy in copies]
        if agent_or_substitute(row.flavor).histories is None or not all(firsts):
            yield _one_history(store, uid)
            continue
        if len(copies) > 1:
            copied[uid] = []
        for first, copy in zip(firsts, copies, strict=True):
            shared = logs.setdefault((row.flavor, first), _SharedLog())
            shared.uids.add(uid)
            shared.sources |= {source.id: source for source in copy}
    for (flavor, _), shared in logs.items():
        for found in _shared_histories(store, agent_or_substitute(flavor), shared):
            if isinstance(found, History) and found.origin in copied:
                copied[found.origin].append(found)
            else:
                yield found
    yield from (max(found, key=_length) for found in copied.values() if found)


def _one_history(store: Store, uid: str) -> History | SourceUnreadable:
    try:
        return collected_history(store, uid)
    except (SourceUnreadable, AdapterFailed, StoreDamaged, OSError) as problem:
        return _unreadable(uid, problem)


def _unreadable(uid: str, problem: Exception) -> SourceUnreadable:
    reason = problem.reason if isinstance(problem, SourceUnreadable) else str(problem)
    return SourceUnreadable(uid, reason)


class _SharedLog:
    """A log that holds several sessions, with the sources beside it."""

    def __init__(self) -> None:
        self.uids: set[str] = set()
        self.sources: dict[int, SourceRow] = {}


def _shared_histories(
    store: Store, agent: Agent, shared: _SharedLog
) -> Iterator[History | SourceUnreadable]:
    sources = [shared.sources[number] for number in sorted(shared.sources)]
    missing = set(shared.uids)
    if agent.histories is None:
        return
    try:
        settings = settings_at(agent, sources)
        for history in agent.histories(*_stored(store, sources)):
            if history.origin in missing:
                missing.remove(history.origin)
                yield with_settings(history, settings)
    except (SourceUnreadable, AdapterFailed, StoreDamaged, OSError) as problem:
        yield from (_unreadable(uid, problem) for uid in sorted(missing))


def sources_of(store: Store, session_id: int) -> list[SourceRow]:
    """The logs and documents of a session, without the rows of live sessions."""
    found = store.sources.read_by(session_id)
    return [source for source in found if not source.superseded and not is_table(source)]


def _copies(sources: list[SourceRow]) -> list[list[SourceRow]]:
    """Group the sources of a session by the place that they were collected from."""
    places: dict[tuple[str, str, str], list[SourceRow]] = {}
    for source in sources:
        # The files of a session are side by side; several databases may be in one directory.
        beside, home = source.path.rpartition("/")[0], source.home_path.rpartition("/")[0]
        places.setdefault((source.host, beside, home), []).append(source)
    copies = [copy for copy in places.values() if any(one.role == LOG for one in copy)]
    return copies or [sources]


def _length(history: History) -> int:
    return len(history.steps) + len(history.usage)


def _stored(store: Store, sources: list[SourceRow]) -> tuple[Iterator[dict[str, Any]], list[bytes]]:
    """The objects in stored logs, and the bytes of the documents beside them."""
    logs = [store.raw.open(source.id) for source in sources if source.role == LOG]
    documents = [store.raw.open(source.id).read() for source in sources if source.role == DOCUMENT]
    return (record for stream in logs for record in jsonl.objects(stream)), documents


def settings_at(agent: Agent, sources: list[SourceRow]) -> dict[str, dict[str, Any]]:
    """Read the settings of each session from the agent's database: native session id → settings.

    Empty if the agent keeps no settings there, or if the database no longer exists.
    """
    place = next((Path(source.path) for source in sources if source.role == LOG), None)
    if agent.settings is None or place is None or not place.is_file():
        return {}
    with tempfile.TemporaryDirectory(prefix="session-memory-") as directory:
        return agent.settings(copied_database(place, Path(directory)))


def with_settings(history: History, settings: dict[str, dict[str, Any]]) -> History:
    known = settings.get(history.native_id, {})
    if "config" in known:
        history.about = {**history.about, "config": known["config"]}
    if "round_index" in known:
        facts = msgspec.structs.replace(history.facts, round_index=known["round_index"])
        history.facts = facts
    return history


def history_at(path: Path, session: str | None = None) -> History:
    """Read the history of a session from its runtime's own directory, log or database."""
    # A relative path is never one of an agent's logs: their patterns have the directories above.
    path = path.absolute()
    able = [agent for agent in agents() if agent.history is not None]
    for agent in able:
        ref = agent.log_at(path) if agent.log_at is not None else None
        if ref is not None and agent.history is not None:
            log, documents, settings = _contents(agent, ref)
            history = agent.history(log, documents, ref.session or session, None)
            return with_settings(history, settings)
    names = " or ".join(agent.flavor for agent in able)
    raise SourceUnreadable(
        str(path),
        f"it is not one session of {names}",
        "Import all sessions of a directory or database: session-memory live import --all PATH",
    )


Contents = tuple[list[dict[str, Any]], list[bytes], dict[str, dict[str, Any]]]


def _contents(agent: Agent, ref: SourceRef) -> Contents:
    """Read a session's own files: the objects in its log, its documents, and the settings."""
    settings: dict[str, dict[str, Any]] = {}
    log: list[dict[str, Any]] = []
    documents: list[bytes] = []
    for role, body in _bodies(agent, ref):
        if role == LOG:
            log += jsonl.objects(io.BytesIO(body))
        elif role == DOCUMENT:
            documents.append(body)
    if agent.settings is not None:
        with tempfile.TemporaryDirectory(prefix="session-memory-") as directory:
            settings = agent.settings(copied_database(ref.place, Path(directory)))
    return log, documents, settings


def _bodies(agent: Agent, ref: SourceRef) -> Iterator[tuple[str, bytes]]:
    parts = [part for part in (ref, *ref.companions) if part.role in (LOG, DOCUMENT)]
    if agent.dump is None:
        for part in parts:
            with opened(part.place) as file:
                yield part.role, file.read()
        return
    with tempfile.TemporaryDirectory(prefix="session-memory-") as directory:
        copy = copied_database(ref.place, Path(directory))
        for part in parts:
            yield part.role, b"".join(agent.dump(copy, part))
