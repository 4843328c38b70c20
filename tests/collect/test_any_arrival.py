"""Whatever logs there are, however they arrive: one result, nothing lost, nothing counted twice."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import pytest
from effort import IS_REPEATABLE, times
from families import File, Step, arrivals, families, forks, strangers, thefts, trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.collect import file_pieces
from session_memory.derive import cluster_records
from session_memory.derive import derivation as derive
from session_memory.store import raw
from session_memory.store.usage import UsageTable
from session_memory.testing.collecting import (
    check_restores,
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    lines_below,
    new_store,
    rebuilt,
)

pytestmark = pytest.mark.every(3)

# More of them: EFFORT=50 pytest tests/collect/test_any_arrival.py
EXAMPLES = {
    "sqlite": times(20),
    "postgresql": times(3),
}


def write(root: Path, file: File, size: int) -> None:
    """Let the file grow in place to ``size`` bytes, as a program that appends does."""
    target = root / file.place
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as stream:
        stream.write(file.data[stream.tell() : size])


@contextmanager
def small_pieces() -> Iterator[None]:
    """Read, batch and pack in pieces of a few lines, so that their borders fall everywhere.

    Usage is looked up as if thousands of sessions had the same response ids.
    """
    with (
        patch.object(file_pieces, "SEGMENT", 300),
        patch.object(derive, "BATCH", 2),
        patch.object(cluster_records, "HELD_IN_MEMORY", 0),
        patch.object(raw, "PACK_BYTES", 200),
        patch.object(raw, "LONGEST_PACK", 400),
        patch.object(UsageTable, "stored_if_few", lambda *_, **__: None),
    ):
        yield


def arrive(root: Path, family: list[File], steps: list[Step]) -> list[str]:
    """The contents after everything arrived step by step, with syncs in between.

    They are compared with those of a store whose sessions were derived again.
    """
    by_place = {file.place: file for file in family}
    with new_store() as store:
        for step in steps:
            write(root, by_place[step.place], step.size)
            if step.syncs:
                collect(store, root)
        collect(store, root)
        check_sound(store, sample=0)
        return contents(store)


def check_any_arrival(family: list[File], data: st.DataObject) -> None:
    steps = data.draw(arrivals(family))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "home")
        for file in family:
            write(root, file, len(file.data))
        with collected(root) as store:
            check_sound(store)
            expected = contents(store)
            assert sum(row.lines for row in store.sources.every() if row.role == "log") == (
                lines_below(root)
            )
            check_restores(store, root, Path(scratch, "again"))
            check_same(expected, contents(rebuilt(store)))
        # The same paths again, so that only the way they were filled differs.
        root.rename(Path(scratch, "before"))
        with small_pieces() if data.draw(st.booleans()) else nullcontext():
            check_same(expected, arrive(root, family, steps))


def check_many(
    families: st.SearchStrategy[list[File]], database: str, examples: dict[str, int] = EXAMPLES
) -> None:
    """The same examples every time, unless more are asked for."""

    @settings(
        max_examples=examples[database],
        derandomize=IS_REPEATABLE,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(families, st.data())
    def check(family: list[File], data: st.DataObject) -> None:
        check_any_arrival(family, data)

    check()


def test_any_family_of_logs_gives_one_store_however_it_arrives(database: str) -> None:
    check_many(families(), database)


@pytest.mark.every(1)  # No other gives a server its statements.
def test_forks_of_forks_give_one_store_however_they_arrive(database: str) -> None:
    check_many(forks(), database)


def test_a_session_rewound_again_and_again_gives_one_store_however_it_grows(
    database: str,
) -> None:
    check_many(trees(), database)


def test_records_with_the_same_id_and_other_content_give_one_store_however_they_arrive(
    database: str,
) -> None:
    # Nearly every example has a theft, so fewer are needed.
    check_many(thefts(), database, {"sqlite": times(12), "postgresql": times(2)})


def test_unrelated_sessions_with_the_same_response_ids_give_one_store_however_they_arrive(
    database: str,
) -> None:
    check_many(strangers(), database, {"sqlite": times(12), "postgresql": times(2)})
