"""Sessions of other runtimes as histories that a live session can continue.

They are read from what was collected, or from where the runtime keeps them. Nothing is written
there.
"""

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import SourceRef
from session_memory.adapters.registry import agent_or_substitute, agents
from session_memory.collect.database_copies import copied_database
from session_memory.collect.native import opened
from session_memory.core.errors import SourceUnreadable, UnknownSession
from session_memory.core.history import History
from session_memory.core.ids import split_uid
from session_memory.core.roles import DOCUMENT, LOG
from session_memory.store.store import Store


def collected_history(store: Store, uid: str) -> History:
    """The history of a collected session, read from its stored logs."""
    row = store.sessions.row(uid)
    if row is None:
        raise UnknownSession(uid)
    flavor, native = split_uid(uid)
    agent = agent_or_substitute(flavor)
    if agent.history is None:
        reason = agent.problem or f"sessions of {flavor} cannot go on as live sessions"
        raise SourceUnreadable(uid, reason)
    sources = [source for source in store.sources.read_by(row.id) if not source.superseded]
    logs = [store.raw.open(source.id) for source in sources if source.role == LOG]
    documents = [store.raw.open(source.id).read() for source in sources if source.role == DOCUMENT]
    log = (record for stream in logs for record in jsonl.objects(stream))
    return agent.history(log, documents, row.native_name or native, uid)


def history_at(path: Path, session: str | None = None) -> History:
    """The history of a session where its runtime keeps it: a directory, a log or a database."""
    able = [agent for agent in agents() if agent.history is not None]
    for agent in able:
        ref = agent.log_at(path) if agent.log_at is not None else None
        if ref is not None and agent.history is not None:
            log, documents = _contents(agent, ref)
            return agent.history(log, documents, ref.session or session, None)
    names = " or ".join(agent.flavor for agent in able)
    raise SourceUnreadable(str(path), f"it holds no session of {names}")


def _contents(agent: Agent, ref: SourceRef) -> tuple[list[dict[str, Any]], list[bytes]]:
    """The objects in the log, and the bytes of every document beside it."""
    log: list[dict[str, Any]] = []
    documents: list[bytes] = []
    for role, body in _bodies(agent, ref):
        if role == LOG:
            log += jsonl.objects(io.BytesIO(body))
        elif role == DOCUMENT:
            documents.append(body)
    return log, documents


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
