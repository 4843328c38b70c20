"""Plan what forgetting sessions deletes, which sessions keep copies, and what cannot be reached."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from glob import escape
from pathlib import Path

import msgspec

from session_memory.config import Config
from session_memory.core.errors import ArchiveError, CannotForget, UnknownSession
from session_memory.core.ids import split_uid
from session_memory.derive.connected import connected_sessions
from session_memory.derive.evicted import archive_of
from session_memory.derive.live_sources import LIVE
from session_memory.retain import archive_edit
from session_memory.store.address import is_postgres
from session_memory.store.live_imports import LiveImports
from session_memory.store.retention_archive import Archive
from session_memory.store.retention_forget import children_by_name, is_live, live_holders
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


class ForgetPlan(msgspec.Struct, kw_only=True):
    """What will be forgotten.

    ``sources`` are read only by these sessions and are deleted. ``shared`` are also read by other
    sessions; only the records of the forgotten sessions are blanked in them. ``keep`` are sessions
    that hold copies of forgotten events and keep them. ``archives`` are the archive files with
    forgotten sessions. ``unreachable`` says where data stays that cannot be deleted from here.
    """

    uids: list[str]
    sources: list[str] = []
    shared: list[str] = []
    keep: list[str] = []
    archives: list[str] = []
    unreachable: list[str] = []


class Selection(msgspec.Struct):
    """The sessions and sources to forget.

    ``sessions`` maps ids to uids. ``live`` are native ids of live sessions. ``whole`` are sources
    of these sessions only, ``shared`` also belong to others. ``related`` are ids of sessions that
    share events with them.
    """

    sessions: dict[int, str]
    live: list[str]
    whole: list[SourceRow]
    shared: list[SourceRow]
    related: set[int]


def with_relatives(
    store: Store, uids: Iterable[str], *, subagents: bool = True, forks: bool = False
) -> list[str]:
    """Return sessions with their subagents and, with ``forks``, their forks and resumes.

    Subagents are included at any depth, even if a session between them was never collected.
    """
    selected: dict[str, None] = {}
    queue, seen = deque(uids), set[str]()
    while queue:
        uid = queue.popleft()
        if uid in seen:
            continue
        seen.add(uid)
        selected[uid] = None
        queue.extend(_forks(store, uid) if forks else ())
        queue.extend(_subagents(store, uid, seen) if subagents else ())
    return list(selected)


def _forks(store: Store, uid: str) -> Iterator[str]:
    for child in store.sessions.children(uid):
        row = store.sessions.row(child)
        if row is not None and row.relation in ("fork", "resume"):
            yield child


def _subagents(store: Store, uid: str, seen: set[str]) -> Iterator[str]:
    """Yield the subagents of a session, and those below a subagent that was not collected."""
    waiting = [uid]
    while waiting:
        above = waiting.pop()
        yield from store.sessions.subagents(above)
        for child in children_by_name(store.db, above):
            if child in seen:
                continue
            row = store.sessions.row(child)
            if row is None:
                seen.add(child)
                waiting.append(child)
            elif row.relation == "subagent" and not _is_collected(store, row.parent_uid):
                yield child


def _is_collected(store: Store, uid: str | None) -> bool:
    return uid is not None and store.sessions.row(uid) is not None


def plan_of(store: Store, config: Config, uids: list[str]) -> ForgetPlan:
    """Return what forgetting these sessions would do. Nothing is changed."""
    return describe(store, config, select(store, uids), uids)


def select(store: Store, uids: list[str]) -> Selection:
    """The sessions with these uids and their sources. Raises for an unknown session."""
    sessions: dict[int, str] = {}
    live: list[str] = []
    for uid in uids:
        row = store.sessions.row(uid)
        flavor, native = split_uid(uid)
        # An imported live session has the uid of its origin.
        names = LiveImports(store.db).names_of(uid)
        if flavor == LIVE and is_live(store.db, native):
            names.append(native)
        if row is None and not names:
            raise UnknownSession(uid)
        if row is not None:
            sessions[row.id] = uid
        live += names
    _refuse_live_holders(store, live)
    whole, shared = split_sources(store, sessions, live)
    return Selection(sessions, live, whole, shared, _related(store, sessions))


def _related(store: Store, sessions: Collection[int]) -> set[int]:
    """The other sessions that share events with these, directly or through others."""
    found: set[int] = set()
    for session in sessions:
        if session not in found:
            found.update(connected_sessions(store, session))
    return found - set(sessions)


def _refuse_live_holders(store: Store, live: list[str]) -> None:
    for native in live:
        others = sorted(set(live_holders(store.db, native)) - set(live))
        if others:
            raise CannotForget(
                f"live session {others[0]} continues the messages of {native}",
                "Forget both: session-memory forget UID --with-forks",
            )


def split_sources(
    store: Store, sessions: dict[int, str], live: Iterable[str] = ()
) -> tuple[list[SourceRow], list[SourceRow]]:
    """Return the sources of these sessions only, and the sources that other sessions use, too.

    ``live`` are the live sessions among them: their rows are sources even if none was read.
    """
    sources: dict[int, SourceRow] = {}
    names = [split_uid(uid) for uid in sessions.values()]
    for session in sessions:
        for source in store.sources.read_by(session):
            sources[source.id] = source
    for flavor, native in (*names, *((LIVE, name) for name in live)):
        for source in store.sources.named_for(flavor, native):
            if not store.sessions.of_source(source.id):
                sources[source.id] = source
    gone = sessions.keys()
    alone = {s: set(store.sessions.of_source(s)) <= gone for s in sources}
    return (
        [row for source, row in sources.items() if alone[source]],
        [row for source, row in sources.items() if not alone[source]],
    )


def describe(store: Store, config: Config, selection: Selection, uids: list[str]) -> ForgetPlan:
    """Describe a selection as a plan for users."""
    archive = archive_of(store, config)
    sources = {row.uid for row in (*selection.whole, *selection.shared)}
    files = (
        []
        if archive is None
        else archive_edit.files_to_change(archive, sources, set(uids), lambda dictionary: False)
    )
    return ForgetPlan(
        uids=list(uids),
        sources=[row.path for row in selection.whole],
        shared=[row.path for row in selection.shared],
        keep=sorted(store.sessions.row_by_id(one).uid for one in selection.related),
        archives=[file.name for file in files],
        unreachable=list(_unreachable(store, selection, archive)),
    )


def _unreachable(store: Store, selection: Selection, archive: Archive | None) -> Iterator[str]:
    for row in selection.whole:
        eviction = store.retention.evicted_source(row.id)
        if eviction and eviction.file and not is_available(archive, eviction.file):
            yield f"{eviction.file}: an archive file that is missing"
    database = store.db.file
    if is_postgres(store.db.name):
        what = "the server's write-ahead log and message log, replicas and base backups"
        yield f"{store.db.name}: {what}"
    elif database is not None:
        for file in sorted(database.parent.glob(f"{escape(database.name)}.before-step-*")):
            yield f"{file}: a copy from before an update; delete it when you no longer need it"
    yield (
        "copies made with store backup, store copy, export, train export, lake export --to or"
        " restore-native, wherever they are, and archives that archive_dir no longer names"
    )
    # The logs come last: there may be many, and a terminal shows only the first lines.
    for row in (*selection.whole, *selection.shared):
        if Path(row.path).exists():
            yield f"{row.path}: the agent's own log, which session-memory never changes"


def is_available(archive: Archive | None, name: str) -> bool:
    """Whether the archive file exists."""
    try:
        return archive is not None and archive.path(name).exists()
    except ArchiveError:
        return False
