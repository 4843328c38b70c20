"""The Parquet files of the lake: their columns, and reading and writing them.

``sessions/``, ``events/`` and ``usage/`` are in plain hive partitions ``flavor=…/month=…``. A file
is replaced as a whole, so a reader never sees half of it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

from session_memory.core.errors import MissingExtra
from session_memory.core.schema import Session, SessionEvent, Usage
from session_memory.core.time import parse_time
from session_memory.core.validation import Count, MaybeCount, MaybeTime
from session_memory.store.private_files import (
    make_private,
    sweep_unfinished,
    sync_directory,
    whole_file,
)

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
# Fields of a session that are no column. Every other field is one, after those of `_KINDS`.
SESSION_FIELDS_LEFT_OUT = frozenset(
    {
        *("flavor", "native_session_id", "task_ref", "schema_version", "discovered_at"),
        *("ingested_at", "spawn_call_id", "spawn_depth", "outcome_evidence", "analyzed_revision"),
        # Its parts are columns.
        "cost",
    }
)
_KIND_OF_TYPE = {MaybeTime: _TIME, Count: _INT, MaybeCount: _INT}


def _other_columns() -> dict[str, str]:
    """The fields of a session that are neither in `_KINDS` nor left out, each with its kind."""
    types = get_type_hints(Session, include_extras=True)
    names = {one.name for one in fields(Session)} - SESSION_FIELDS_LEFT_OUT
    named = set(re.findall(r"(\w+):", _KINDS["sessions"]))
    return {name: _KIND_OF_TYPE.get(types[name], _TEXT) for name in sorted(names - named)}


COLUMNS: dict[str, dict[str, str]] = {
    dataset: dict(word.split(":") for word in words.split())
    | (dict.fromkeys(_COST, _INT) if dataset != "events" else {})
    | (_other_columns() if dataset == "sessions" else {})
    for dataset, words in _KINDS.items()
}


def arrow() -> Any:
    """The module pyarrow. Raises `MissingExtra` if it is not installed."""
    try:
        import_module("pyarrow.parquet")
        import_module("pyarrow.compute")
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingExtra("lake") from error


def partition(session: Session) -> Partition:
    return session.flavor, (session.started_at or "unknown")[:7]


def file_of(directory: Path, dataset: str, where: Partition) -> Path:
    return directory / dataset / f"flavor={where[0]}" / f"month={where[1]}" / FILE


def session_row(session: Session) -> dict[str, Any]:
    fields = session.to_dict()
    values = {name: fields.get(name) for name in COLUMNS["sessions"]}
    values.update((name, fields["cost"][name]) for name in values.keys() & fields["cost"].keys())
    return _with_times("sessions", values)


def event_row(event: SessionEvent) -> dict[str, Any]:
    fields = event.to_dict()
    values = _with_times("events", {name: fields.get(name) for name in COLUMNS["events"]})
    return {**values, "marks": list(event.marks)}


def usage_row(used: Usage) -> dict[str, Any]:
    fields = used.to_dict()
    return _with_times("usage", {name: fields.get(name) for name in COLUMNS["usage"]})


def _with_times(dataset: str, values: dict[str, Any]) -> dict[str, Any]:
    for name, kind in COLUMNS[dataset].items():
        if kind == _TIME and values[name] is not None:
            values[name] = parse_time(values[name])
    return values


def arrow_schema(pa: Any, dataset: str) -> Any:
    kinds: dict[str, Callable[[], Any]] = {
        _TEXT: pa.string,
        _INT: pa.int64,
        _YES: pa.bool_,
        _REAL: pa.float64,
        _TIME: lambda: pa.timestamp("ms", tz="UTC"),
        _TEXTS: lambda: pa.list_(pa.string()),
    }
    return pa.schema([(name, kinds[kind]()) for name, kind in COLUMNS[dataset].items()])


def exported_sessions(pa: Any, directory: Path) -> dict[str, tuple[Partition, dict[str, Any]]]:
    """Session uid → its partition and its row, for every session in the lake."""
    sessions = {}
    for file in sorted((directory / "sessions").rglob(FILE)):
        flavor, month = (part.partition("=")[2] for part in file.parts[-3:-1])
        schema = arrow_schema(pa, "sessions")
        times = [name for name, kind in COLUMNS["sessions"].items() if kind == _TIME]
        table = _fitted(pa, pa.parquet.ParquetFile(file).read(), schema)
        for name in times:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).cast(pa.int64()))
        for row in table.to_pylist():
            sessions[row["session_uid"]] = ((flavor, month), row)
    return sessions


def parquet_files(directory: Path) -> list[Path]:
    return sorted(directory.rglob(FILE))


def session_uids(pa: Any, file: Path) -> set[str]:
    """The sessions that have rows in a file."""
    with pa.parquet.ParquetFile(file) as opened:
        column = opened.read(columns=["session_uid"]).column(0)
    return {uid for uid in pa.compute.unique(column).to_pylist() if uid is not None}


def texts(pa: Any, file: Path) -> Iterator[bytes]:
    """Yield the texts of a Parquet file, many at a time."""
    for table in read_tables(pa, file):
        for column in table.columns:
            for chunk in column.chunks:
                values = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
                if pa.types.is_string(values.type):
                    yield "\n".join(filter(None, values.to_pylist())).encode()


def write_file(pa: Any, file: Path, dataset: str, gone: set[str], rows: Rows) -> None:
    """Rewrite the file without the sessions in ``gone`` and with ``rows``. Delete an empty file."""
    make_private(file.parent)
    sweep_unfinished(file.parent)
    schema = arrow_schema(pa, dataset)
    kept = _remaining(pa, file, schema, gone)
    tables = chain(kept, _tables(pa, schema, rows))
    first = next(tables, None)
    if first is None:
        file.unlink(missing_ok=True)
        sync_directory(file.parent)
        return
    with (
        whole_file(file, replace=True) as target,
        pa.parquet.ParquetWriter(target, schema, compression="zstd") as writer,
    ):
        for table in chain((first,), tables):
            writer.write_table(table)


def _tables(pa: Any, schema: Any, rows: Rows) -> Iterator[Any]:
    for some in _batched(rows):
        table = pa.Table.from_pylist(some, schema=_with_integer_times(pa, schema))
        yield table.cast(schema)


def _remaining(pa: Any, file: Path, schema: Any, gone: set[str]) -> Iterator[Any]:
    values = pa.array(sorted(gone), type=pa.string())
    for batch in read_tables(pa, file):
        table = _fitted(pa, batch, schema)
        stays = pa.compute.invert(pa.compute.is_in(table.column("session_uid"), values))
        rest = table.filter(stays)
        if rest.num_rows:
            yield rest


def _fitted(pa: Any, table: Any, schema: Any) -> Any:
    """The table with the columns of the schema. Those that an older release did not write are
    null."""
    for field in schema:
        if field.name not in table.schema.names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(schema.names).cast(schema)


def read_tables(pa: Any, file: Path, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a Parquet file in batches; none if the file does not exist."""
    if not file.exists():
        return
    with pa.parquet.ParquetFile(file) as opened:
        for batch in opened.iter_batches(batch_size=BATCH, columns=columns):
            yield pa.Table.from_batches([batch])


def _with_integer_times(pa: Any, schema: Any) -> Any:
    """The schema with integers instead of times, as the rows have them."""
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
