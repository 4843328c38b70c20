"""A column exists in two places that must agree: the migration steps and the row's class."""

from pathlib import Path

import msgspec
import pytest

from session_memory.store import steps
from session_memory.store.digests import DigestRow, ErrorRow, SignalRow
from session_memory.store.migrations import all_steps
from session_memory.store.retention import EvictedSource
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.testing.stores import Stores

ROWS: dict[str, type[msgspec.Struct]] = {
    "sessions": CollectedSession,
    "sources": SourceRow,
    "digests": DigestRow,
    "error_fingerprints": ErrorRow,
    "signals": SignalRow,
    "evicted_sources": EvictedSource,
}


@pytest.mark.parametrize("table", ROWS)
def test_a_row_has_the_columns_of_its_table(stores: Stores, table: str) -> None:
    with stores.new() as store:
        columns, named = set(store.db.columns(table)), set(ROWS[table].__struct_fields__)
        row = ROWS[table].__name__
        assert not columns - named, f"{row} has no field for these columns: {columns - named}"
        assert not named - columns, f"no step adds these fields of {row}: {named - columns}"


def test_every_module_of_a_step_is_applied() -> None:
    modules = list(Path(steps.__file__).parent.glob("step*.py"))
    assert len(all_steps()) == len(modules)
    assert all_steps()[0].lstrip().startswith("create table names")


@pytest.mark.parametrize("names", [("step1_a", "step3_b"), ("step1_a", "step1_b"), ("step2_a",)])
def test_steps_with_a_gap_or_a_number_twice_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / f"{name}.py").write_text('SQL = ""\n')
    monkeypatch.setattr(steps, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(RuntimeError, match="must be numbered"):
        steps.load_steps()
