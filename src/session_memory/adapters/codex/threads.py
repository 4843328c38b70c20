"""Read from the ``session_meta`` lines of Codex which session a log belongs to, and from which
session it was forked or started."""

from session_memory.adapters.base import Base, NativeEvent, Record, SourceRef
from session_memory.adapters.codex.lines import HistoryBase, SessionMeta
from session_memory.adapters.codex.reading import LogReading, fit
from session_memory.adapters.codex.state import short, time_of
from session_memory.core.remotes import remote_name
from session_memory.core.text import one_line
from session_memory.core.time import time_or_none

DEEPEST = 1000
MOST_ORDINAL = 1 << 62
# Kinds of threads that are no good name for a session, because its prompt says more.
_SAYS_NOTHING = frozenset({"subagent", "review"})


def session_meta(reading: LogReading, native: SessionMeta, record: Record) -> None:
    text = f"{native.originator or 'codex'} {native.cli_version or ''}".strip()
    reading.named(record, "m", f"{native.id} {native.timestamp}")
    if native.forked_from_id and not reading.state.origin:
        reading.state.begin_fork(short(native.forked_from_id))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text)))


def place(reading: LogReading, meta: SessionMeta, record: Record, has_ordinals: bool) -> None:
    """Set the session of the log from a ``session_meta`` line.

    The first such line names the session, and each resume repeats it. A line with another id begins
    a copy of that thread's lines.
    """
    state, thread = reading.state, short(meta.id or reading.ref.session) or "unnamed"
    if not state.thread:
        began = time_of(thread) or time_or_none(meta.timestamp) or 0
        state.begin_thread(thread, began, _rollout(reading.ref))
        state.is_paginated = has_ordinals or meta.history_mode == "paginated"
        # Versions of Codex that log `history_mode` also log the usage of each response.
        state.knows_records = meta.history_mode is not None
        state.inherited_until = max(meta.subagent_history_start_ordinal or 0, 0)
        _place_own(reading, meta, record)
    elif thread != state.thread:
        state.begin_copy(thread, not _is_subagent(meta), record.ts)
        if state.is_person:
            record.parent_session, record.relation = fit(thread), "fork"
        return
    elif state.origin:
        state.end_copy()
    record.cwd, record.agent_version = meta.cwd, meta.cli_version
    if meta.git:
        record.git_branch = meta.git.branch
        if name := remote_name(meta.git.repository_url):
            record.facts = {**(record.facts or {}), "repository": name}


def _place_own(reading: LogReading, meta: SessionMeta, record: Record) -> None:
    record.session = reading.session
    name = meta.id or reading.ref.session
    if name and record.session != name:
        record.unfit_name = name
    reading.state.is_person = not _is_subagent(meta)
    if not reading.state.is_person:
        parent, record.spawn_depth = _spawned_by(meta)
        record.parent_session = fit(parent) if parent else None
        record.relation = "subagent"
    elif meta.forked_from_id and meta.forked_from_id != meta.id:
        record.parent_session, record.relation = fit(meta.forked_from_id), "fork"
    record.base = _base(meta, meta.history_base)
    called = meta.agent_nickname or (None if reading.state.is_person else _kind_of(meta))
    if called and called not in _SAYS_NOTHING:
        record.facts = {"agent_name": called}


def _base(meta: SessionMeta, base: HistoryBase | None) -> Base | None:
    """Return the history that a fork begins with, if the log refers to it.

    The reference has the name of a file, which may differ from the thread's id. So the parent's id
    is used if it is logged.
    """
    if base is None or not base.thread_id or base.end_ordinal_exclusive is None:
        return None
    if not 0 <= base.end_ordinal_exclusive < MOST_ORDINAL:
        return None
    return Base(fit(meta.forked_from_id or base.thread_id), base.end_ordinal_exclusive)


def _rollout(ref: SourceRef) -> str:
    """Return the id at the end of a file's name; "" if there is none.

    Codex adds this id when a thread continues in another file after a revert.
    """
    name = ref.path.name.partition(".")[0]
    return short(name.rpartition("_")[2]) if name.startswith("rollout-") and "_" in name else ""


def _is_subagent(meta: SessionMeta) -> bool:
    match meta.source:
        case {"subagent": _} | {"internal": _}:
            return True
    if meta.thread_source == "subagent" and isinstance(meta.source, str):
        # The desktop program also logs "subagent" for threads that a person started, but those
        # name no parent and no other session.
        return bool(meta.parent_thread_id) or meta.session_id not in (None, meta.id)
    return meta.thread_source in ("subagent", "memory_consolidation")


def _kind_of(meta: SessionMeta) -> str:
    """Return the kind of a subagent that has no name, such as ``review``."""
    match meta.source:
        case {"subagent": str(kind) | {"other": str(kind)}} | {"internal": str(kind)}:
            return kind
    return meta.thread_source or "subagent"


def _spawned_by(meta: SessionMeta) -> tuple[str | None, int | None]:
    parent, depth = meta.parent_thread_id, None
    match meta.source:
        case {"subagent": {"thread_spawn": {"parent_thread_id": str(named), "depth": int(deep)}}}:
            parent = parent or named
            depth = deep if 0 < deep < DEEPEST else None
    if not parent and meta.session_id != meta.id:
        parent = meta.session_id
    return parent, depth
