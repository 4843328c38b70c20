"""Whatever logs there are, however they arrive: one result, nothing lost, nothing counted twice."""

import os
import tempfile
from pathlib import Path

from families import File, Step, arrivals, families
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.store import open_store
from session_memory.testing.collecting import (
    check_restores,
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    lines_below,
    rebuilt,
)


N = int(os.environ.get("N", "150"))


def write(root: Path, file: File, size: int) -> None:
    """Let the file grow in place to ``size`` bytes, as a program that appends does."""
    target = root / file.place
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as stream:
        stream.write(file.data[stream.tell() : size])


def arrive(root: Path, family: list[File], steps: list[Step]) -> list[str]:
    """The contents after everything arrived step by step, with syncs in between."""
    by_place = {file.place: file for file in family}
    with open_store(":memory:") as store:
        for step in steps:
            write(root, by_place[step.place], step.size)
            if step.syncs:
                collect(store, root)
        collect(store, root)
        check_sound(store)
        return contents(store)


@settings(max_examples=N, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_family_of_logs_gives_one_store_however_it_arrives(data: st.DataObject) -> None:
    family = data.draw(families())
    steps = data.draw(arrivals(family))
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "home")
        for file in family:
            write(root, file, len(file.data))
        with collected(root) as store:
            check_sound(store)
            expected, fingerprint = contents(store), store.fingerprint()
            assert sum(row.lines for row in store.sources.every() if row.role == "log") == (
                lines_below(root)
            )
            check_restores(store, root, Path(scratch, "again"))
            check_same(expected, contents(rebuilt(store)))
            assert store.fingerprint() == fingerprint
        # The same paths again, so that only the way they were filled differs.
        root.rename(Path(scratch, "before"))
        check_same(expected, arrive(root, family, steps))
