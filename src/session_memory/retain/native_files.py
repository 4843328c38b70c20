"""Write native logs back to files, byte for byte."""

import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath

import msgspec

from session_memory.collect.database_copies import dump_of
from session_memory.collect.row_sources import is_part
from session_memory.core.document_lines import DamagedDocument, document_in
from session_memory.core.errors import SessionEvicted, StoreDamaged, UnknownSession, UnsafePath
from session_memory.core.roles import REWRITTEN
from session_memory.derive.facts import base_of
from session_memory.derive.live_sources import LIVE, is_table
from session_memory.retain.live_files import live_lines, live_rows
from session_memory.store.private_files import sweep_unfinished, whole_file
from session_memory.store.retention_forget import is_live
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

Target = tuple[SourceRow, Path]
"""A log and the file to write it to."""


class DamagedLog(msgspec.Struct, frozen=True):
    """A log that cannot be read back as a whole, and the sessions that are derived from it."""

    path: str
    sessions: tuple[str, ...]
    reason: str
    in_database: bool = False


class RestoredFile(msgspec.Struct, frozen=True):
    """A file that was written. ``masked``: its secrets are masked, so it differs from the log."""

    path: Path
    bytes: int
    masked: bool = False


def restore_native(
    store: Store,
    uids: list[str] | None,
    to: Path | None = None,
    host: str | None = None,
    *,
    only_missing: bool = False,
    below: Iterable[Path] = (),
    present: Collection[Path] = (),
    damaged: list[DamagedLog] | None = None,
) -> list[RestoredFile]:
    """Write the files of sessions and their subagents. ``uids=None``: of all that are not evicted.

    ``to`` is used in place of the home directory. Without ``to``, each file goes where the agent
    looks for it. A path from another user's export could lead anywhere, so it must be ``below`` one
    of the agents' roots. Three kinds need ``to``: masked logs; live sessions, whose rows are
    written to ``live/<id>.jsonl``; and sessions in an agent's database, whose rows are written to a
    file named after the database and the session.

    Nothing is overwritten and no link is followed; all places are checked before the first byte is
    written. ``only_missing`` skips existing files. Without ``to``, the files ``present`` count as
    existing too: they are elsewhere, for example in the agent's archive. If two machines have the
    same file with the same bytes, it is written once.

    A file appears whole or not at all. Logs that are damaged in the store, and imported logs
    without a safe place, are added to the list ``damaged``, and the others are written. If
    ``damaged`` is None, `StoreDamaged` or `UnsafePath` is raised. `UnsafePath` is also raised if
    the only log has no safe place.
    """
    allowed = [root.absolute() for root in below]
    with store.db.snapshot():
        return _restore_native(store, uids, to, host, only_missing, allowed, present, damaged)


def _restore_native(
    store: Store,
    uids: list[str] | None,
    to: Path | None,
    host: str | None,
    only_missing: bool,
    allowed: list[Path],
    present: Collection[Path],
    damaged: list[DamagedLog] | None,
) -> list[RestoredFile]:
    # Logs that this machine read come first, so that no imported log takes their paths.
    selected = _selected(store, uids, host, to is not None and host is None)
    rows = sorted(selected, key=lambda row: row.is_imported)
    targets = _targets(store, rows, to, allowed, damaged)
    for directory in {path.parent for _, path in targets}:
        sweep_unfinished(directory)
    taken = frozenset(present) if to is None else frozenset()
    if only_missing:
        targets = [
            (row, path)
            for row, path in targets
            if not (path in taken or path.exists() or path.is_symlink())
        ]
    targets = _each_once(store, targets, damaged)
    _refuse_clashes(targets, taken)
    written = []
    for row, path in targets:
        base = to or next((root for root in allowed if root in path.parents), None)
        try:
            size = _write(store, row, path, base, keep_time=to is not None)
        except StoreDamaged as error:
            if damaged is None:
                raise
            damaged.append(damaged_log(store, row, error))
            continue
        written.append(RestoredFile(path, size, row.redacted_from is not None))
    return written


def _selected(
    store: Store, uids: list[str] | None, host: str | None, with_live: bool
) -> list[SourceRow]:
    if uids is None:
        every = store.sources.every()
        rows = [row for row in every if not is_made_of_rows(row) or (with_live and is_part(row))]
    else:
        by_uid = {row.uid: row for uid in uids for row in sources_of(store, uid)}
        rows = list(by_uid.values())
    evicted = store.retention.evicted()
    live = {row.session for row in rows if is_table(row) and row.id not in evicted}
    rows = [row for row in rows if not is_table(row) or row.id in evicted]
    if uids is None and with_live:
        rows += live_rows(store)
    elif live and (with_live or not rows):
        # If there are other logs, as for an imported session, they are written without the rows.
        rows += live_rows(store, sorted(live))
    rows = [
        row
        for row in rows
        if not row.superseded
        and row.ingested_at is not None
        and (host in (None, row.host) or is_table(row))
    ]
    evictions = [evicted[row.id] for row in rows if row.id in evicted]
    if evictions and uids is not None:
        raise SessionEvicted(uids[0], evictions[0].file)
    return [row for row in rows if row.id not in evicted]


def sources_of(store: Store, uid: str) -> list[SourceRow]:
    """Return every source of a session and of its subagents: logs, documents, spilled texts.

    If its log only refers to the history of another session, that session's sources are included.
    """
    rows, queue, seen = [], [uid], {uid}
    while queue:
        session = store.sessions.row(queue.pop())
        if session is None and (native := uid.removeprefix(f"{LIVE}:")) != uid:
            # A live session that no sync has read yet.
            rows += live_rows(store, [native]) if is_live(store.db, native) else []
        if session is None and not rows:
            raise UnknownSession(uid)
        if session is None:
            continue
        sources = store.sessions.source_ids(session.id)
        rows += [store.sources.get(source_id) for source_id in sources]
        named = store.sources.named_for(session.flavor, session.native_id)
        rows += [row for row in named if not row.agent]
        others = set(store.sessions.subagents(session.uid))
        base = base_of(session)
        if base is not None and store.sessions.row(base[0]) is not None:
            others.add(base[0])
        queue += sorted(others - seen)
        seen |= others
    return rows


def is_made_of_rows(row: SourceRow) -> bool:
    """Whether a source is rows of a database (the agent's or ours) and not a file."""
    return row.flavor == LIVE or dump_of(row.flavor) is not None or is_part(row)


def _target(row: SourceRow, to: Path | None, allowed: list[Path]) -> Path:
    if row.flavor == LIVE and to is None:
        raise UnsafePath(
            f"{row.path} is a live session of this store and has no log of its own",
            "Write its rows to a file with: session-memory restore-native UID --to DIR",
        )
    if to is None:
        if is_made_of_rows(row):
            raise UnsafePath(
                f"{row.path} is a database; only its rows were kept",
                "Write them to files with: session-memory restore-native UID --to DIR",
            )
        if row.redacted_from is not None:
            raise UnsafePath(
                f"{row.path} was masked when it was collected and differs from the agent's log",
                "Write what was kept somewhere else: session-memory restore-native UID --to DIR",
            )
        path = Path(_as_named(row.path))
        if ".." in path.parts or not any(root in path.parents for root in allowed):
            raise UnsafePath(
                f"{row.path} is not below a directory where an agent keeps its logs",
                "Write it somewhere else with: session-memory restore-native UID --to DIR",
            )
        return path
    parts = PurePosixPath(_as_named(row.home_path)).parts
    if not parts or ".." in parts or row.home_path.startswith("/") or "\0" in row.home_path:
        raise UnsafePath(f"{row.home_path!r} would be written outside of {to}")
    return to.joinpath(*parts)


def _targets(
    store: Store,
    rows: list[SourceRow],
    to: Path | None,
    allowed: list[Path],
    left_out: list[DamagedLog] | None,
) -> list[Target]:
    """Return where each log goes.

    If an imported log has no safe path, it is added to the list ``left_out``. Without that list, if
    it is the only log, and for any other log, `UnsafePath` is raised.
    """
    targets = []
    for row in rows:
        try:
            targets.append((row, _target(row, to, allowed)))
        except UnsafePath as error:
            if left_out is None or not row.is_imported or len(rows) == 1:
                raise
            left_out.append(_left_out(store, row, str(error)))
    return targets


def _left_out(store: Store, row: SourceRow, reason: str) -> DamagedLog:
    return DamagedLog(row.path, sessions_of_log(store, row), f"imported from {row.host}: {reason}")


def _as_named(text: str) -> str:
    """Undo the escapes in a stored path, which stand for bytes that are not UTF-8."""
    return re.sub(r"\\udc([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), text)


def _each_once(
    store: Store, targets: list[Target], left_out: list[DamagedLog] | None
) -> list[Target]:
    """Drop each log that has the path and the bytes of an earlier log.

    A log with the path of an earlier log and other bytes cannot be written. If it was imported from
    the machine of the earlier log, it is added to ``left_out``, unless that is None. Otherwise it
    stays in the result, and the caller refuses it.
    """
    kept: dict[Path, Target] = {}
    others = []
    for row, path in targets:
        first = kept.setdefault(path, (row, path))[0]
        if first is row or _is_same(store, first, row):
            continue
        if left_out is not None and row.is_imported and row.host == first.host:
            left_out.append(_left_out(store, row, f"{path} is the place of {first.path}"))
        else:
            others.append((row, path))
    return [*kept.values(), *others]


def _is_same(store: Store, one: SourceRow, other: SourceRow) -> bool:
    # Two machines may have stored one document as different lines, so the number of its bytes in
    # the store says nothing. The hash of the whole document does.
    is_longer = one.kept != other.kept and one.role != REWRITTEN
    if is_longer or one.tail_hash != other.tail_hash:
        return False
    return _digest(store, one) == _digest(store, other)


def _digest(store: Store, row: SourceRow) -> str:
    """Return the hash of a log; its uid if it is damaged, so that it is equal to no other."""
    digest = sha256()
    try:
        for piece in native_bytes(store, row):
            digest.update(piece)
    except StoreDamaged:
        return row.uid
    return digest.hexdigest()


def damaged_log(store: Store, row: SourceRow, error: StoreDamaged) -> DamagedLog:
    """Describe a damaged log, with the sessions derived from it as far as they can be found."""
    return DamagedLog(row.path, sessions_of_log(store, row), str(error), error.in_database)


def sessions_of_log(store: Store, row: SourceRow) -> tuple[str, ...]:
    """Return the sessions derived from a log; none if the store is too damaged to tell."""
    try:
        ids = store.sessions.of_source(row.id)
        return tuple(sorted(store.sessions.row_by_id(one).uid for one in ids))
    except (StoreDamaged, LookupError):
        return ()


def _refuse_clashes(targets: Iterable[Target], taken: frozenset[Path]) -> None:
    seen: dict[Path, SourceRow] = {}
    for row, path in targets:
        if path in taken and not path.exists():
            raise UnsafePath(
                f"{path} exists already in the agent's archive or compressed",
                "Restore into an empty directory: --to DIR",
            )
        if path.exists() or path.is_symlink():
            hint = "Leave it as it is with --only-missing, or restore elsewhere with --to DIR."
            raise UnsafePath(f"{path} exists already", hint)
        if path in seen:
            raise UnsafePath(
                f"{row.path} and {seen[path].path} both belong at {path}",
                "Restore one session at a time, or choose one machine with --host.",
            )
        seen[path] = row


def _write(store: Store, row: SourceRow, path: Path, base: Path | None, *, keep_time: bool) -> int:
    _make_directories(path.parent, base)
    # In the agent's directory the file must look new, because agents delete old files.
    mtime_ns = row.mtime_ns if row.mtime_ns and keep_time else None
    size = 0
    with whole_file(path, mtime_ns=mtime_ns) as file:
        for piece in native_bytes(store, row):
            file.write(piece)
            size += len(piece)
    return size


def native_bytes(store: Store, row: SourceRow) -> Iterator[bytes]:
    """Yield the bytes of a native file. Raises `StoreDamaged`.

    A document that an agent rewrites as a whole is put together from its stored lines.
    """
    if row.role != REWRITTEN:
        yield from whole_log(store, row)
        return
    lines = b"".join(whole_log(store, row)).split(b"\n")
    try:
        # After the last newline there is nothing, or a torn line.
        masked = row.redacted_from is not None
        yield document_in(lines if lines[-1] else lines[:-1], masked=masked)
    except DamagedDocument as error:
        raise StoreDamaged(row.path, str(error)) from error


def whole_log(store: Store, row: SourceRow) -> Iterator[bytes]:
    """Yield the stored bytes of a log. Raises `StoreDamaged` if a part is missing or damaged."""
    if is_table(row):
        yield from live_lines(store, row.session)
        return
    place = 0
    for pack in store.raw.packs(row.id):
        if pack.start != place:
            break
        yield store.raw.unpacked(row.id, pack)
        place += pack.length
    if place != row.kept:
        raise StoreDamaged(row.path, f"its bytes from {place} on are missing")


def _make_directories(directory: Path, base: Path | None) -> None:
    """Create missing directories with mode 0700. Raise if one below ``base`` is a link."""
    for place in reversed((directory, *directory.parents)):
        if base is not None and base in place.parents and place.is_symlink():
            raise UnsafePath(f"{place} is a link and would lead outside {base}")
        if not place.exists():
            place.mkdir(mode=0o700)
