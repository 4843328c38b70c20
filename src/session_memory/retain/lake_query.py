"""SQL queries over the lake, run by DuckDB in a sandbox.

Only one ``select`` is allowed. DuckDB can read no file outside the lake, uses no network and no
extensions, and its memory is limited.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import LakeError, MissingExtra
from session_memory.retain.lake_files import COLUMNS, DATASETS, FILE

MEMORY = "1GB"
AT_ONCE = 1000
_TYPES = {
    "text": "varchar",
    "int": "bigint",
    "bool": "boolean",
    "float": "double",
    "time": "timestamptz",
    "texts": "varchar[]",
}


class LakeAnswer(msgspec.Struct, frozen=True):
    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def ask(directory: Path, question: str, memory: str = MEMORY) -> Iterator[LakeAnswer]:
    """Run one ``select`` over ``sessions``, ``events`` and ``usage``, and yield its result."""
    duckdb = _duckdb()
    connection = duckdb.connect(":memory:", config={"threads": 2, "memory_limit": memory})
    try:
        _prepare(connection, directory)
        _refuse_other_than_select(duckdb, connection, question)
        result = connection.sql(question)
        yield LakeAnswer(list(result.columns), _rows(duckdb, result))
    except duckdb.Error as error:
        raise LakeError(_first_line(str(error))) from error
    finally:
        connection.close()


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise MissingExtra("lake") from error


def _prepare(connection: Any, directory: Path) -> None:
    for statement in (
        "set autoinstall_known_extensions = false",
        "set autoload_known_extensions = false",
        "set temp_directory = ''",
        "set TimeZone = 'UTC'",
        f"set allowed_directories = [{_quoted(directory)}]",
        "set enable_external_access = false",
    ):
        connection.execute(statement)
    for dataset in DATASETS:
        connection.execute(f"create view {dataset} as {_selection(directory, dataset)}")
    connection.execute("set lock_configuration = true")


def _selection(directory: Path, dataset: str) -> str:
    names = ", ".join(COLUMNS[dataset])
    nulls = ", ".join(
        f"cast(null as {_TYPES[kind]}) as {name}" for name, kind in COLUMNS[dataset].items()
    )
    empty = f"select '' as flavor, '' as month, {nulls} where false"
    if not any((directory / dataset).rglob(FILE)):
        return empty
    files = _quoted(directory / dataset / "*" / "*" / FILE)
    # Files of an older release may lack newer columns; ``by name`` makes them null.
    return (
        f"select flavor, month, {names} from ("
        f"select * from read_parquet({files}, hive_partitioning = true, union_by_name = true,"
        " hive_types = {'flavor': varchar, 'month': varchar})"
        f" union all by name {empty})"
    )


def _refuse_other_than_select(duckdb: Any, connection: Any, question: str) -> None:
    statements = connection.extract_statements(question)
    # ``explain`` is refused too, because ``explain analyze`` runs its statement.
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise LakeError("only one statement is allowed, and it must be a select")


def _rows(duckdb: Any, result: Any) -> Iterator[tuple[Any, ...]]:
    try:
        # Rows are read through Arrow. DuckDB alone needs another library to return times.
        for batch in result.to_arrow_reader(AT_ONCE):
            columns = [[_plain(value) for value in column.to_pylist()] for column in batch.columns]
            yield from zip(*columns, strict=True)
    except duckdb.Error as error:
        raise LakeError(_first_line(str(error))) from error


def _plain(value: Any) -> Any:
    """Make an int of a decimal without a fraction: DuckDB returns sums of integers as decimals."""
    whole = isinstance(value, Decimal) and value == value.to_integral_value()
    return int(value) if whole else value


def _quoted(path: Path) -> str:
    return "'" + str(path.absolute()).replace("'", "''") + "'"


def _first_line(message: str) -> str:
    return " ".join(message.split("\n\n")[0].split())
