"""Find out whether a damaged store is the cause of an unexpected exception."""

import json
from collections.abc import Iterable, Iterator

import msgspec

from session_memory.core.errors import StoreError
from session_memory.store.database import Database, connect
from session_memory.store.zstandard import zstd

_WITHOUT_NAME = """
    select t.{column} from {table} t
    where t.{column} is not null and not exists (select 1 from names n where n.id = t.{column})
    limit 1
"""
# The columns that hold ids of rows of the table ``names``.
NAMED = (
    *(("events", name) for name in ("kind", "marks", "role", "tool", "native_kind", "model")),
    *(("usage", name) for name in ("model", "speed", "service_tier")),
)


def is_unreadable_value(error: BaseException) -> bool:
    """Whether a stored value could not be unpacked or decoded."""
    kinds = (zstd.ZstdError, msgspec.DecodeError, json.JSONDecodeError, UnicodeDecodeError)
    return isinstance(error, kinds)


def damage_of(stores: Iterable[str]) -> str | None:
    """Describe the first damage in these stores. None if the databases' checks find no fault."""
    for where in stores:
        if where == ":memory:":
            continue
        try:
            db = connect(where, create=False)
        except StoreError as error:
            return str(error)
        try:
            findings = [*db.check(), *missing_names(db)]
        except StoreError as error:
            return str(error)
        finally:
            db.close()
        if findings:
            return f"{db.name} is damaged: {findings[0]}"
    return None


def missing_names(db: Database) -> Iterator[str]:
    """Describe columns of events and usage that refer to a missing row of the table ``names``."""
    for table, column in NAMED:
        if row := db.one(_WITHOUT_NAME.format(table=table, column=column)):
            yield f"table names: row {row[0]} is missing, which is the {column} of a row of {table}"
