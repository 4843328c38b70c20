"""Forget sessions: delete them from the store, its index, the lake and the archive, with proof.

First the archive and lake are changed, then the rows in one transaction, then the free pages.
If the process is killed before the transaction, the session is still there and can be forgotten
again. If it is killed later, the store remembers that its free pages must still be cleared. A
tombstone keeps a forgotten session from being collected again.
"""

from pathlib import Path

import msgspec

from session_memory.config import Config
from session_memory.core.errors import StoreError
from session_memory.core.ids import make_uid, split_uid
from session_memory.derive.evicted import archive_of, bring_back, family
from session_memory.derive.files_beside import beside
from session_memory.derive.live_sources import LIVE, is_table, refs_of
from session_memory.derive.masked_lines import mask_stored
from session_memory.derive.reported_usage import settle_reports
from session_memory.derive.repository_names import RepositoryNames
from session_memory.derive.response_ids import note_shared_ids
from session_memory.derive.same_ids import OTHER_CONTENT
from session_memory.derive.stale_sessions import derive_stale
from session_memory.derive.turns_with_subagents import subtract_subagents
from session_memory.retain import archive_edit, lake
from session_memory.retain.archive_edit import Tainted
from session_memory.retain.forget_plan import ForgetPlan, Selection, describe, select
from session_memory.retain.forget_traces import traces
from session_memory.retain.proof import Proof, prove
from session_memory.store.database import Unswept
from session_memory.store.pieces import run_in_pieces
from session_memory.store.private_files import sweep_unfinished
from session_memory.store.retention import (
    FORGOTTEN_LIVE,
    SESSION,
    SOURCE,
    UNSWEPT,
    session_key,
    source_key,
)
from session_memory.store.retention_archive import Archive
from session_memory.store.retention_forget import (
    delete_live,
    delete_sessions,
    replace_dictionaries,
)
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

LAKE = "lake"
# A store with this mark must still clear deleted data, but not in the tables of live sessions:
# no live session was forgotten.
UNSWEPT_LOGS = "unswept logs"
COMPACT = "session-memory store compact"


class ForgetResult(msgspec.Struct, kw_only=True):
    plan: ForgetPlan
    proof: Proof


def forget(store: Store, config: Config, uids: list[str], now: int) -> ForgetResult:
    """Forget sessions for good. Other sessions keep the events that they share with them."""
    with store.db.operation_lock(shared=False):
        return _forget(store, config, uids, now)


def _forget(store: Store, config: Config, uids: list[str], now: int) -> ForgetResult:
    _bring_back_shared(store, config, uids)
    selection = select(store, uids)
    plan = describe(store, config, selection, uids)
    archive = archive_of(store, config)
    place = lake.place(store, config)
    lake.require_reader(place)
    samples, is_tainted = traces(store, archive, selection)
    if archive is not None:
        delete_from_archive(store, archive, selection, is_tainted, now)
    lake.forget(place, set(uids).__contains__)
    with store.transaction():
        delete_from_store(store, config, selection, is_tainted, now)
        _add_tombstones(store, selection, now)
    unswept = sweep(store, now, config) or []
    lessons = Path(config.lessons.dir).expanduser() if config.lessons.dir else None
    proof = prove(store, archive, place, samples, lessons)
    proof.unswept += unswept
    return ForgetResult(plan=plan, proof=proof)


def sweep(
    store: Store, now: int = 0, config: Config | None = None, *, everything: bool = False
) -> list[str] | None:
    """Clear free pages and the WAL, which still hold deleted data. None if nothing was to do.

    With a ``config``, rows of forgotten sessions that are left in the lake are deleted, too.
    Returns what could not be cleared. The next `forget` tries to clear it again, and so does
    `session-memory store compact`. With ``everything``, it works on the whole store, even if no
    deleted data is left.
    """
    marks = store.retention.tombstones().get(UNSWEPT, set())
    if not (marks or everything):
        return None
    with store.db.operation_lock(shared=False):
        try:
            if marks and (place := beside(store)) is not None:
                sweep_unfinished(place)
            unswept = _sweep_index(store) if marks else []
            if not marks:
                unswept += store.db.compact()
            elif everything or UNSWEPT in marks:
                unswept += store.db.clear_deleted()
            else:
                unswept += store.db.clear_deleted(marks, without_live=UNSWEPT_LOGS in marks)
            unswept += _sweep_lake(store, config) if marks and config else []
        except StoreError as error:
            if everything:
                raise
            unswept = [Unswept((store.db.name,), str(error), f"Run: {COMPACT}")]
        if marks:
            left = {mark for one in unswept for mark in one.marks or (UNSWEPT,)}
            with store.transaction():
                store.retention.remove_tombstones(UNSWEPT)
                for mark in left | (marks & {LAKE} if config is None else set()):
                    store.retention.add_tombstone(UNSWEPT, mark, now, UNSWEPT)
    return [str(one) for one in unswept]


def _sweep_index(store: Store) -> list[Unswept]:
    """Remove deleted words from the index, and an index that a killed `reindex` left."""
    run_in_pieces(store.transaction, store.index.purged())
    try:
        with store.transaction():
            store.index.drop_unfinished()
    except StoreError as error:
        remedy = "Let its owner run: session-memory store reindex"
        return [Unswept(("the unfinished index of a store reindex",), str(error), remedy)]
    return []


def _sweep_lake(store: Store, config: Config) -> list[Unswept]:
    keys = store.retention.tombstones().get(SESSION, set())
    left = lake.forget(lake.place(store, config), lambda uid: session_key(uid) in keys)
    remedy = "Delete it and run: session-memory lake export"
    return [Unswept((file,), "it cannot be read as Parquet", remedy, (LAKE,)) for file in left]


def compact(store: Store, config: Config, now: int) -> tuple[int, int, list[str]]:
    """Clear deleted data, and give free pages back to the disk.

    Returns the sizes before and after, and what could not be cleared.
    """
    before = store.db.bytes_on_disk()
    unswept = sweep(store, now, config, everything=True) or []
    return before, store.db.bytes_on_disk(), unswept


def allow_again(store: Store, uid: str) -> bool:
    """Let the next sync collect a forgotten session again. False if it was not forgotten."""
    tombstones = store.retention.tombstones()
    known = any(session_key(uid) in tombstones.get(kind, ()) for kind in (SESSION, FORGOTTEN_LIVE))
    with store.transaction():
        store.retention.remove_tombstones(session_key(uid))
    return known


def _bring_back_shared(store: Store, config: Config, uids: list[str]) -> None:
    """Restore shared sources that were evicted: records can be blanked only in stored bytes."""
    shared = select(store, uids).shared
    evicted = [row for row in shared if store.retention.evicted_source(row.id) is not None]
    if not evicted:
        return
    sessions = {one for row in evicted for one in store.sessions.of_source(row.id)}
    related = {other for one in sessions for other in family(store, one)}
    with store.transaction():
        bring_back(store, archive_of(store, config), sorted(related))
        derive_stale(store, 0, config.domain_of)


def delete_from_archive(
    store: Store, archive: Archive, selection: Selection, is_tainted: Tainted, now: int
) -> None:
    """Rewrite the archive files that hold one of the selected sessions, without them."""
    uids = {row.uid for row in (*selection.whole, *selection.shared)}
    sessions = set(selection.sessions.values())
    if not archive.directory.is_dir():
        return
    with archive.writing():
        for file in archive_edit.files_to_change(archive, uids, sessions, is_tainted):
            archive_edit.rewrite(store, archive, file, uids, sessions, is_tainted, now)


def delete_from_store(
    store: Store, config: Config, selection: Selection, is_tainted: Tainted, now: int
) -> None:
    """Delete sessions from every table. Other sessions that shared records are derived again.

    Runs inside the caller's transaction.
    """
    containing = {one for session in selection.sessions for one in store.turns.containing(session)}
    natives = {split_uid(uid)[1] for uid in selection.sessions.values()}
    keep = set(selection.related)
    for row in selection.shared:
        # A session that shares the log is derived again only if its own records are read
        # differently without the blanked lines.
        for native in mask_stored(store, row, natives.__contains__):
            changed = store.sessions.row(make_uid(row.flavor, native))
            if changed is not None and changed.evicted_at is None:
                keep.add(changed.id)
    tainted = [
        number
        for number, _, body in store.retention.dictionaries()
        if body and is_tainted(zstd.decompress(body))
    ]
    keep |= _children(store, selection)
    keep -= set(selection.sessions)
    reported = {key for session in selection.sessions for key in store.usage.also_reported(session)}
    shared = {key for one in selection.sessions for key in store.response_ids.shared_by(one)}
    delete_sessions(store, selection.sessions, [row.id for row in selection.whole])
    delete_live(store.db, selection.live)
    replace_dictionaries(store, tainted)
    for other in keep:
        store.sessions.mark_stale(other)
    derive_stale(store, now, config.domain_of)
    for uid in selection.sessions.values():
        # An evicted session was not derived again, so its problems may name the forgotten session.
        store.problems.drop_naming(OTHER_CONTENT, f" than in {uid} (")
    written = settle_reports(store, reported)
    note_shared_ids(store, shared.union(reported if written else ()), written, now)
    # A forgotten session may be the one that named a repository.
    RepositoryNames(store, config.domain_of).rename_all()
    subtract_subagents(store, containing - set(selection.sessions))


def _children(store: Store, selection: Selection) -> set[int]:
    """Return the ids of the children of forgotten sessions, without those that are evicted.

    They are derived again, because the calls that started them are deleted.
    """
    rows = [
        store.sessions.row(child)
        for uid in selection.sessions.values()
        for child in store.sessions.children(uid)
    ]
    return {row.id for row in rows if row is not None and row.evicted_at is None}


def _add_tombstones(store: Store, selection: Selection, now: int) -> None:
    own_rows = {row.path for row in selection.whole if is_table(row)}
    own_rows |= {str(ref.path) for native in selection.live for ref in refs_of(native)}
    # The rows of an evicted live session are in the archive.
    evicted = {row.session for row in selection.whole if is_table(row) and not row.agent}
    live = {f"{LIVE}:{native}" for native in (*selection.live, *evicted)}
    keys = [session_key(uid) for uid in selection.sessions.values() if uid not in live]
    # A session that was only live gets no tombstone of kind SESSION, because its id may be used
    # again. Its key still groups the tombstones of its sources.
    first = next(iter(keys), session_key(next(iter((*selection.sessions.values(), *sorted(live))))))
    for key in keys:
        store.retention.add_tombstone(SESSION, key, now)
    for row in selection.whole:
        if row.path not in own_rows:
            named = session_key(make_uid(row.flavor, row.session)) if row.session else ""
            with_key = named if named in keys else first
            store.retention.add_tombstone(SOURCE, source_key(row.host, row.path), now, with_key)
    for uid in live:
        store.retention.add_tombstone(FORGOTTEN_LIVE, session_key(uid), now)
    mark = UNSWEPT if selection.live else UNSWEPT_LOGS
    store.retention.add_tombstone(UNSWEPT, mark, now, UNSWEPT)
