"""A disk that fails at the k-th call, for every k of every operation: the error is one of ours,
nothing is half-done, and the store can be used as soon as the disk can.

Each call fails in one of the manners, and most of opening a store in none. With
``SESSION_MEMORY_FAULTS=all`` every call fails in every manner.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .disk import NoCompiler, compiled, in_memory, under
from .fault_child import MANNERS, OPERATIONS
from .processes import PATIENCE_S, environment

CHILD = Path(__file__).with_name("fault_child.py")
ERRORS = ("store_full", "store_error", "store_damaged")
IS_WHOLE = os.environ.get("SESSION_MEMORY_FAULTS") == "all"
STRIDE = 1 if IS_WHOLE else 5
OPENING_STRIDE = 1 if IS_WHOLE else 40
# Those of a group are tried by one process: starting it takes as long as trying one of them.
GROUPS = {
    "append": [name for name in OPERATIONS if name.startswith("append")],
    "others": [name for name in OPERATIONS if not name.startswith("append")],
}
READING = ("load", "close")


@pytest.fixture
def scratch() -> Iterator[Path]:
    with in_memory() as directory:
        yield directory


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return compiled(tmp_path_factory.mktemp("disk"))
    except NoCompiler as missing:
        pytest.skip(f"NO BROKEN DISK IS TESTED: {missing}")


def failures(
    library: Path, scratch: Path, operations: list[str], stride: int
) -> list[dict[str, Any]]:
    """What came of every call that failed."""
    root = scratch / "disk"
    root.mkdir()
    done = subprocess.run(
        [sys.executable, str(CHILD), str(root), str(stride), *operations],
        env=environment(**under(library, root)),
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_an_operation_is_done_or_not_done_whichever_call_fails(
    library: Path, scratch: Path, group: str
) -> None:
    found = failures(library, scratch, GROUPS[group], STRIDE)
    assert {item["operation"] for item in found} == set(GROUPS[group])
    assert {item["manner"] for item in found} == set(MANNERS)
    for item in found:
        operation = item["operation"]
        assert item["error"] in ("done", "killed", *ERRORS), item
        assert item["then"] in ("before", "after"), item
        # What was said to be done is, and what was said to have failed is not.
        assert item["error"] != "done" or item["then"] == "after" or operation in READING, item
        assert item["error"] not in ERRORS or item["then"] == "before", item
        assert item["last"] == "so do I"
        assert item["findings"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "stride"), [("open-a-new-store", OPENING_STRIDE), ("open-after-a-crash", STRIDE)]
)
def test_a_store_that_could_not_be_opened_can_be_opened_later(
    library: Path, scratch: Path, operation: str, stride: int
) -> None:
    found = failures(library, scratch, [operation], stride)
    assert len(found) > 30
    for item in found:
        assert item["error"] in ("done", "killed", *ERRORS), item
        assert item["then"] == "before", item
        assert item["last"] == "so do I"
        assert item["findings"] == []
