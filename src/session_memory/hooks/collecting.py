"""Collect and analyze the sessions that ended, in the background, one process at a time."""

import os
import time
from collections import defaultdict

from session_memory.collect.discover import loadable_flavors, roots
from session_memory.collect.sync import sync_sessions
from session_memory.config import default_store, load_config
from session_memory.core.errors import SessionMemoryError
from session_memory.core.time import now_ms
from session_memory.hooks.ending import SHORTEST_ID
from session_memory.hooks.state import (
    EndedSession,
    is_waiting,
    note_failure,
    take_ended,
    take_lock,
)
from session_memory.learn.analyze import analyze
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.store import Store, open_store
from session_memory.views.short_names import short_names

SECONDS = 60
# Each analysis reads the whole session, so a running session is analyzed at most this often.
ANALYZE_EVERY_MS = 600_000


def collect_ended(lock: int | None = None, seconds: float = SECONDS) -> None:
    """Collect all sessions that hooks have noted, unless another process does.

    ``lock``: the lock for collecting, if the caller holds it. It is released at the end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        lock = take_lock() if lock is None else lock
        if lock is None:
            # Another process is collecting. Before it ends, it checks for newly noted sessions.
            return
        try:
            if noted := take_ended():
                _collect(noted, until)
        finally:
            os.close(lock)
            lock = None
        # While we held the lock, another hook may have noted a session and left it to us.
        if not is_waiting():
            return


def collect_now(agent: str, session: str, place: str) -> tuple[Digest, str] | None:
    """Collect and analyze a session that is still running. Returns its digest and short name.

    None if the session has no log here, or if the store or the configuration does not allow it.
    """
    config = load_config()
    if len(session) < SHORTEST_ID or agent not in loadable_flavors():
        return None
    if not config.source(agent).enabled:
        return None
    with open_store(place, create=False) as store:
        if not store.index.is_complete:
            return None
        sync_sessions(store, config, roots(config, (), (agent,)), {session})
        uid = f"{agent}:{session}"
        if store.sessions.row(uid) is None:
            return None
        analyze(store, [uid])
        digest = digest_of(store, uid)
        return None if digest is None else (digest, short_names(store, [uid])[uid])


def _collect(noted: list[EndedSession], until: float) -> None:
    try:
        config = load_config()
        by_agent: dict[str, list[EndedSession]] = defaultdict(list)
        for one in noted:
            by_agent[one.agent].append(one)
        known = set(loadable_flavors())
        with open_store(default_store(lambda: config), create=False) as store:
            if not store.index.is_complete:
                reason = "the search index is not complete; run session-memory store reindex"
                note_failure(noted[0].agent, "end", reason)
                return
            for agent, some in by_agent.items():
                # Without an adapter, nobody can read the logs of the agent.
                if agent not in known or not config.source(agent).enabled:
                    continue
                ids = {one.session for one in some}
                outcome = sync_sessions(store, config, roots(config, (), (agent,)), ids)
                last = any(one.is_last for one in some)
                _analyze(store, list(outcome.touched), until, is_last=last)
    except SessionMemoryError as error:
        note_failure(noted[0].agent, "end", str(error))
    except Exception as error:
        # Nobody sees this process. `doctor` tells what happened.
        note_failure(noted[0].agent, "end", type(error).__name__)


def _analyze(store: Store, uids: list[str], until: float, *, is_last: bool) -> None:
    rows = [row for uid in uids if (row := store.sessions.row(uid)) is not None]
    recent = now_ms() - ANALYZE_EVERY_MS
    some = [row.uid for row in rows if is_last or (row.analyzed_at or 0) < recent]
    if some:
        analyze(store, some, keep_going=lambda: time.monotonic() < until)
