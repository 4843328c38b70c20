"""Export training data: collect examples, drop low scores and near-duplicates, split, write.

The same store gives the same bytes. All files appear at once or not at all, and nothing is
overwritten.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from session_memory.core.errors import MissingExtra, UnsafePath
from session_memory.core.schema import Session
from session_memory.learn.train.card import COLUMNS, TrainingReport, card
from session_memory.learn.train.duplicates import Duplicates
from session_memory.learn.train.example import Example, ExampleFilter, RefusedExample
from session_memory.learn.train.parallel_examples import ExampleMaking
from session_memory.learn.train.splits import SHARES, KeptRow, splits_of
from session_memory.store.private_files import make_private, sweep_unfinished, whole_directory
from session_memory.store.store import Store

NEAR_DUPLICATE = "a near-duplicate"
BATCH = 500

Take = Callable[[Example], None]


def preview(
    store: Store, sessions: list[Session], options: ExampleFilter, **how: Any
) -> TrainingReport:
    """Return the report that an export would give, without writing files."""
    return _gathered(store, sessions, options, None, **how)[0]


def export(
    store: Store,
    sessions: list[Session],
    options: ExampleFilter,
    out: Path,
    *,
    parquet: bool = False,
    shares: tuple[int, int, int] = SHARES,
    on_session: Callable[[], None] = lambda: None,
    jobs: int = 1,
) -> TrainingReport:
    """Write the files below ``out``, which must not exist or must be an empty directory.

    ``shares`` are the parts of the splits train, validation and test. ``jobs`` worker processes
    make examples if there is much to read; 0 means one for each processor.
    """
    _refuse_full(out)
    make_private(out.parent)
    sweep_unfinished(out.parent)
    with whole_directory(out) as making:
        with _Files(making, parquet, options.tools) as files:
            report, splits = _gathered(
                store,
                sessions,
                options,
                files.take,
                shares=shares,
                on_session=on_session,
                jobs=jobs,
            )
            files.write(splits)
        ending = "parquet" if parquet else "jsonl"
        settings = {
            "kinds": ", ".join(options.kinds),
            "tools": "calls and their results" if options.tools else "left out",
            "longest example": f"{options.most_characters:,} characters",
            "split": "/".join(map(str, shares)),
        }
        with _created(making / "README.md") as file:
            file.write(card(report, ending, settings).encode())
        report.files = sorted(str(path.relative_to(making)) for path in _all_files(making))
        report.bytes = sum(path.stat().st_size for path in _all_files(making))
    return report


def _gathered(
    store: Store,
    sessions: list[Session],
    options: ExampleFilter,
    take: Take | None,
    *,
    shares: tuple[int, int, int] = SHARES,
    on_session: Callable[[], None] = lambda: None,
    jobs: int = 1,
) -> tuple[TrainingReport, dict[KeptRow, str]]:
    report = TrainingReport(sessions=len(sessions))
    seen = {kind: Duplicates() for kind in options.kinds}
    kept: list[KeptRow] = []
    ordered = sorted(sessions, key=lambda one: one.session_uid)
    making = ExampleMaking(store, ordered, options, jobs=jobs, with_rows=take is not None)
    with making.started():
        for of_session in making.each():
            for found in of_session:
                if isinstance(found, RefusedExample):
                    _count(report.dropped, found.kind, found.reason)
                    continue
                example = found.example
                if not seen[example.kind].is_new(found.exact, found.signature):
                    _count(report.dropped, example.kind, NEAR_DUPLICATE)
                    continue
                kept.append(KeptRow(example.kind, example.origin, example.session_uid))
                _count(report.scores, example.kind, str(example.score))
                for kind, count in found.secrets().items():
                    report.secrets[kind] = report.secrets.get(kind, 0) + count
                if take is not None:
                    take(example)
            on_session()
    report.repos = len({row.origin for row in kept})
    splits = splits_of(kept, shares)
    for row in kept:
        _count(report.rows, row.kind, splits[row])
    report.rows = {kind: report.rows[kind] for kind in options.kinds if kind in report.rows}
    for counts in (report.secrets, *report.scores.values(), *report.dropped.values()):
        _sort(counts)
    return report, splits


def _count(counts: dict[str, dict[str, int]], kind: str, name: str) -> None:
    of_kind = counts.setdefault(kind, {})
    of_kind[name] = of_kind.get(name, 0) + 1


def _sort(counts: dict[str, int]) -> None:
    ordered = sorted(counts.items())
    counts.clear()
    counts.update(ordered)


def _refuse_full(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UnsafePath(f"{out} is not a directory", "Name a directory that does not exist yet.")
    if out.exists() and any(out.iterdir()):
        raise UnsafePath(f"{out} is not empty", "Name a directory that does not exist yet.")


def _all_files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file())


def _created(path: Path) -> IO[bytes]:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "wb")


class _Files:
    """Writes a file for each kind and split, and ``provenance.jsonl`` with the source of each row.

    Rows wait in a temporary file until the split of every session is known.
    """

    def __init__(self, directory: Path, parquet: bool, tools: bool) -> None:
        self._directory = directory
        self._tools = tools
        self._open: dict[tuple[str, str], _JsonLinesFile | _ParquetFile] = {}
        self._make = _ParquetFile if parquet else _JsonLinesFile
        if parquet:
            _arrow()
        self._waiting = directory / "waiting.jsonl"
        self._found = _JsonLinesFile(self._waiting, "", tools)

    def take(self, example: Example) -> None:
        values = msgspec.structs.asdict(example)
        self._found.add({name: values[name] for name in values if name != "text"})

    def write(self, splits: dict[KeptRow, str]) -> None:
        self._found.close()
        origins = _JsonLinesFile(self._directory / "provenance.jsonl", "", self._tools)
        with self._waiting.open("rb") as lines:
            for line in lines:
                example = json.loads(line)
                split = splits[KeptRow(example["kind"], example["origin"], example["session_uid"])]
                file = self._file(example["kind"], split)
                origins.add(
                    {
                        "kind": example["kind"],
                        "split": split,
                        "row": file.rows,
                        "score": example["score"],
                        "session_uid": example["session_uid"],
                        "evidence": example["event_uids"],
                    }
                )
                file.add(example["row"])
        for made in (origins, *self._open.values()):
            made.close()
        self._waiting.unlink()

    def _file(self, kind: str, split: str) -> "_JsonLinesFile | _ParquetFile":
        key = (kind, split)
        if key not in self._open:
            self._open[key] = self._make(self._directory / kind / split, kind, self._tools)
        return self._open[key]

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *failure: object) -> None:
        self._found.close()


class _JsonLinesFile:
    def __init__(self, path: Path, kind: str, tools: bool) -> None:
        self._file = _created(path if path.suffix else path.with_suffix(".jsonl"))
        self.rows = 0

    def add(self, row: dict[str, Any]) -> None:
        # A lone surrogate cannot be written as UTF-8, so it is replaced.
        text = json.dumps(row, ensure_ascii=False, allow_nan=False)
        self._file.write(text.encode("utf-8", "replace") + b"\n")
        self.rows += 1

    def close(self) -> None:
        if self._file.closed:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


class _ParquetFile:
    """A Parquet file with rows of one kind, written in batches."""

    def __init__(self, path: Path, kind: str, tools: bool) -> None:
        self._schema = _schema(kind, tools)
        self._file = _created(path.with_suffix(".parquet"))
        self._writer = _arrow().parquet.ParquetWriter(self._file, self._schema)
        self._batch: list[dict[str, Any]] = []
        self.rows = 0

    def add(self, row: dict[str, Any]) -> None:
        # Messages and schemas have different fields, so each is stored as a text with JSON.
        self._batch.append({name: [_packed(one) for one in part] for name, part in row.items()})
        self.rows += 1
        if len(self._batch) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._batch:
            arrow = _arrow()
            columns = [
                _json_lists(arrow, [row[name] for row in self._batch])
                for name in self._schema.names
            ]
            self._writer.write_table(arrow.lib.Table.from_arrays(columns, schema=self._schema))
            self._batch = []

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._file.close()


def _arrow() -> Any:
    try:
        import pyarrow.lib  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra("lake") from error
    return pyarrow


def _packed(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _json_lists(arrow: Any, texts: list[list[str]]) -> Any:
    """Make an Arrow column of lists of JSON values."""
    plain = arrow.array(texts, arrow.list_(arrow.string()))
    packed = arrow.ExtensionArray.from_storage(arrow.json_(), plain.flatten())
    return arrow.ListArray.from_arrays(plain.offsets, packed)


def _schema(kind: str, tools: bool) -> Any:
    """Return the schema of a Parquet file: each column is a list of JSON values.

    The metadata describe the columns for ``datasets``, which decodes the JSON.
    """
    arrow = _arrow()
    names = [*COLUMNS[kind], *(("tools",) if tools else ())]
    features = {name: {"feature": {"_type": "Json"}, "_type": "List"} for name in names}
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    return arrow.schema([(name, arrow.list_(arrow.json_())) for name in names], described)
