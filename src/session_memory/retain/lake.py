"""The lake: sessions, events and usage as Parquet files, for questions over all of them.

``sessions/``, ``events/`` and ``usage/`` below one directory, each in plain hive partitions
``flavor=…/month=…``; a session lies in the month it began in, whole. What is exported stays when a
session is evicted. Only partitions with something new are written, each file whole or not at all,
and ``sessions`` last: its revisions say what the other two hold.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from session_memory.config import Config
from session_memory.core.errors import MissingExtra
from session_memory.core.schema import Session, SessionEvent, Usage
from session_memory.core.time import parse_time
from session_memory.derive.derivation import derive_closure
from session_memory.derive.evicted import archive_of
from session_memory.store.private_files import make_private
from session_memory.store.store import Store

BATCH = 5000
FILE = "data.parquet"
DATASETS = ("events", "usage", "sessions")
Partition = tuple[str, str]
Rows = Iterator[dict[str, Any]]

_TEXT, _INT, _YES, _TIME, _REAL, _TEXTS = "text", "int", "bool", "time", "float", "texts"
_COST = (
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("cache_write_1h_tokens", "reasoning_tokens", "web_searches"),
)
_KINDS = {
    "events": """
        session_uid:text event_uid:text seq:int ts:time kind:text marks:texts role:text tool:text
        summary:text is_error:bool exit_code:int duration_ms:int tokens:int model:text path:text
        call_id:text response_id:text parent_seq:int is_sidechain:bool branch:text
        native_kind:text payload_ref:text
    """,
    "usage": """
        session_uid:text usage_id:text seq:int ts:time model:text speed:text service_tier:text
    """,
    "sessions": """
        session_uid:text repo:text domain:text cwd:text git_branch:text model:text
        started_at:time ended_at:time outcome:text title:text parent_uid:text relation:text
        agent_version:text host:text source_path:text source_bytes:int revision:int
        analyzed_at:time evicted_at:time turns:int retries:int wall_clock_s:float
    """,
}
COLUMNS: dict[str, dict[str, str]] = {
    dataset: dict(word.split(":") for word in words.split())
    | (dict.fromkeys(_COST, _INT) if dataset != "events" else {})
    for dataset, words in _KINDS.items()
}


class LakeExport(msgspec.Struct, kw_only=True):
    """What an export wrote; ``without_events`` were evicted before they could be exported."""

    sessions: int = 0
    removed: int = 0
    unchanged: int = 0
    without_events: int = 0
    partitions: int = 0
    events: int = 0
    directory: str = ""


def place(store: Store, config: Config) -> Path | None:
    """Beside the archive."""
    archive = archive_of(store, config)
    if archive is None:
        return None
    if config.retention.archive_dir:
        return archive.directory / "lake"
    return archive.directory.parent.parent / "lake" / archive.directory.name


def arrow() -> Any:
    """pyarrow, or an error that says how to get it."""
    try:
        import_module("pyarrow.parquet")
        import_module("pyarrow.compute")
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingExtra("lake") from error


def is_there(directory: Path | None) -> bool:
    return directory is not None and (directory / "sessions").is_dir()


def export(store: Store, directory: Path) -> LakeExport:
    """Bring the lake up to date with the store; what did not change is not written."""
    pa = arrow()
    make_private(directory)
    with store.db.operation_lock(shared=False), store.db.snapshot():
        known = _known(pa, directory)
        return _Export(pa, store, directory, known).run()


def forget(directory: Path | None, uids: Iterable[str]) -> int:
    """Take sessions out of every file that holds them; the number of files."""
    if directory is None or not is_there(directory):
        return 0
    pa, gone, written = arrow(), set(uids), 0
    for file in sorted(directory.rglob(FILE)):
        if _holds(pa, file, gone):
            dataset = file.relative_to(directory).parts[0]
            _write(pa, file, dataset, gone, iter(()))
            written += 1
    for left in directory.rglob(".*.part"):
        left.unlink()
    return written


# ---------------------------------------------------------------- exporting


class _Export:
    def __init__(
        self,
        pa: Any,
        store: Store,
        directory: Path,
        known: dict[str, tuple[Partition, dict[str, Any]]],
    ) -> None:
        self._pa = pa
        self._store = store
        self._directory = directory
        self._known = known
        self._evicted = store.retention.evicted_sessions()
        self.done = LakeExport(directory=str(directory))

    def run(self) -> LakeExport:
        now = {one.session_uid: one for one in self._store.sessions.every()}
        rows = {uid: session_row(one) for uid, one in now.items()}
        changed: dict[Partition, set[str]] = {}
        told: dict[Partition, set[str]] = {}
        for uid, one in now.items():
            before = self._known.get(uid)
            here = partition(one)
            if before is None or before[0] != here or _is_anew(before[1], one):
                self._note(changed, uid, before, here)
                self.done.sessions += 1
                self.done.without_events += one.evicted_at is not None
            elif before[1] != rows[uid]:
                told.setdefault(here, set()).add(uid)
                self.done.sessions += 1
            else:
                self.done.unchanged += 1
        for uid in self._known.keys() - now.keys():
            changed.setdefault(self._known[uid][0], set()).add(uid)
            self.done.removed += 1
        for where in sorted(changed.keys() | told.keys()):
            self._write(where, now, rows, changed.get(where, set()), told.get(where, set()))
            self.done.partitions += 1
        return self.done

    @staticmethod
    def _note(changed: dict[Partition, set[str]], uid: str, before: Any, here: Partition) -> None:
        changed.setdefault(here, set()).add(uid)
        if before is not None:
            changed.setdefault(before[0], set()).add(uid)

    def _write(
        self,
        where: Partition,
        now: dict[str, Session],
        rows: dict[str, dict[str, Any]],
        changed: set[str],
        told: set[str],
    ) -> None:
        here = [uid for uid in sorted(changed) if uid in now and partition(now[uid]) == where]
        # One that is evicted has its events in the lake or nowhere.
        fresh = {uid for uid in changed if uid not in now or now[uid].evicted_at is None}
        if changed:
            own = [uid for uid in here if uid in fresh]
            self._file(where, "events", fresh, self._events(own))
            self._file(where, "usage", changed, self._usage(here))
        again = changed | told
        kept = (rows[uid] for uid in sorted(again) if uid in now and partition(now[uid]) == where)
        self._file(where, "sessions", again, kept)

    def _file(self, where: Partition, dataset: str, gone: set[str], rows: Rows) -> None:
        file = file_of(self._directory, dataset, where)
        _write(self._pa, file, dataset, gone, rows)

    def _events(self, uids: list[str]) -> Rows:
        for uid in uids:
            row = self._store.sessions.row(uid)
            if row is None:
                continue
            there = self._kept_for_evicted(row.id)
            for event in self._store.events.each_of(row.id, uid):
                if event.event_uid not in there:
                    self.done.events += 1
                    yield event_row(event)

    def _kept_for_evicted(self, session_id: int) -> set[str]:
        """Events that fell to this one when their owner was evicted: the lake has them as its."""
        if not self._evicted:
            return set()
        kin = set(derive_closure(self._store, session_id)) & self._evicted
        uids = {self._store.sessions.row_by_id(one).uid for one in kin} & self._known.keys()
        wanted = self._pa.array(sorted(uids), type=self._pa.string())
        found: set[str] = set()
        for where in {self._known[uid][0] for uid in uids}:
            file = file_of(self._directory, "events", where)
            for table in _tables(self._pa, file, ["session_uid", "event_uid"]):
                ours = self._pa.compute.is_in(table.column("session_uid"), wanted)
                found.update(table.filter(ours).column("event_uid").to_pylist())
        return found

    def _usage(self, uids: list[str]) -> Rows:
        for uid in uids:
            row = self._store.sessions.row(uid)
            for used in self._store.usage.of(row.id, uid) if row else ():
                yield usage_row(used)


def _is_anew(before: dict[str, Any], now: Session) -> bool:
    """Changed since it was exported, or back: it may have been away when it was."""
    is_back = before["evicted_at"] is not None and now.evicted_at is None
    return bool(before["revision"] != now.revision or is_back)


def partition(session: Session) -> Partition:
    return session.flavor, (session.started_at or "unknown")[:7]


def file_of(directory: Path, dataset: str, where: Partition) -> Path:
    return directory / dataset / f"flavor={where[0]}" / f"month={where[1]}" / FILE


def session_row(session: Session) -> dict[str, Any]:
    told = session.to_dict()
    values = {name: told.get(name) for name in COLUMNS["sessions"]}
    values.update((name, told["cost"][name]) for name in values.keys() & told["cost"].keys())
    return _timed("sessions", values)


def event_row(event: SessionEvent) -> dict[str, Any]:
    told = event.to_dict()
    values = _timed("events", {name: told.get(name) for name in COLUMNS["events"]})
    return {**values, "marks": list(event.marks)}


def usage_row(used: Usage) -> dict[str, Any]:
    told = used.to_dict()
    return _timed("usage", {name: told.get(name) for name in COLUMNS["usage"]})


def _timed(dataset: str, values: dict[str, Any]) -> dict[str, Any]:
    for name, kind in COLUMNS[dataset].items():
        if kind == _TIME and values[name] is not None:
            values[name] = parse_time(values[name])
    return values


# ---------------------------------------------------------------- files


def _schema(pa: Any, dataset: str) -> Any:
    kinds: dict[str, Callable[[], Any]] = {
        _TEXT: pa.string,
        _INT: pa.int64,
        _YES: pa.bool_,
        _REAL: pa.float64,
        _TIME: lambda: pa.timestamp("ms", tz="UTC"),
        _TEXTS: lambda: pa.list_(pa.string()),
    }
    return pa.schema([(name, kinds[kind]()) for name, kind in COLUMNS[dataset].items()])


def _known(pa: Any, directory: Path) -> dict[str, tuple[Partition, dict[str, Any]]]:
    """Every session of the lake with its partition and its row."""
    found = {}
    for file in sorted((directory / "sessions").rglob(FILE)):
        flavor, month = (part.partition("=")[2] for part in file.parts[-3:-1])
        schema = _schema(pa, "sessions")
        times = [name for name, kind in COLUMNS["sessions"].items() if kind == _TIME]
        table = pa.parquet.ParquetFile(file).read().select(schema.names).cast(schema)
        for name in times:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).cast(pa.int64()))
        for row in table.to_pylist():
            found[row["session_uid"]] = ((flavor, month), row)
    return found


def _holds(pa: Any, file: Path, uids: set[str]) -> bool:
    column = pa.parquet.ParquetFile(file).read(columns=["session_uid"]).column(0)
    return not uids.isdisjoint(pa.compute.unique(column).to_pylist())


def _write(pa: Any, file: Path, dataset: str, gone: set[str], rows: Rows) -> None:
    """The file without the sessions that are ``gone`` from it and with ``rows``; none if empty."""
    make_private(file.parent)
    partial = file.with_name(f".{file.name}.{os.getpid()}.part")
    schema, written = _schema(pa, dataset), 0
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as target:
            with pa.parquet.ParquetWriter(target, schema, compression="zstd") as writer:
                for batch in _kept(pa, file, schema, gone):
                    writer.write_table(batch)
                    written += batch.num_rows
                for some in _batched(rows):
                    writer.write_table(
                        pa.Table.from_pylist(some, schema=_plain(pa, schema)).cast(schema)
                    )
                    written += len(some)
            target.flush()
            os.fsync(target.fileno())
        if written:
            partial.replace(file)
        else:
            file.unlink(missing_ok=True)
    finally:
        partial.unlink(missing_ok=True)


def _kept(pa: Any, file: Path, schema: Any, gone: set[str]) -> Iterator[Any]:
    values = pa.array(sorted(gone), type=pa.string())
    for found in _tables(pa, file):
        table = found.select(schema.names).cast(schema)
        stays = pa.compute.invert(pa.compute.is_in(table.column("session_uid"), values))
        rest = table.filter(stays)
        if rest.num_rows:
            yield rest


def _tables(pa: Any, file: Path, columns: list[str] | None = None) -> Iterator[Any]:
    """The rows of a file, some at a time; none if it is not there."""
    if not file.exists():
        return
    with pa.parquet.ParquetFile(file) as opened:
        for batch in opened.iter_batches(batch_size=BATCH, columns=columns):
            yield pa.Table.from_batches([batch])


def _plain(pa: Any, schema: Any) -> Any:
    """Times as the numbers they come as."""
    return pa.schema(
        [(f.name, pa.int64() if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    )


def _batched(rows: Rows) -> Iterator[list[dict[str, Any]]]:
    some: list[dict[str, Any]] = []
    for row in rows:
        some.append(row)
        if len(some) >= BATCH:
            yield some
            some = []
    if some:
        yield some
