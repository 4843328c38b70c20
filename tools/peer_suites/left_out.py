"""Tests of another project that are left out of a run, each with a reason.

A list has a line ``# reason`` before the names of tests that are left out for it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


def reasons_in(path: Path) -> dict[str, str]:
    """Each test that is left out, with the reason above it."""
    reasons: dict[str, str] = {}
    reason = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            reasons[line] = reason
    return reasons


def file_and_name(item: pytest.Item) -> str:
    """The name of a test with its file, without parameters."""
    return item.nodeid.partition("[")[0].removeprefix("tests/")


def leave_out(
    config: pytest.Config,
    items: list[pytest.Item],
    reasons: dict[str, str],
    name_of: Callable[[pytest.Item], str] = file_and_name,
) -> set[str]:
    """Take these tests out of a run. Returns the names for which there is no test."""
    dropped = [item for item in items if name_of(item) in reasons]
    missing = reasons.keys() - {name_of(item) for item in dropped}
    items[:] = [item for item in items if name_of(item) not in reasons]
    config.hook.pytest_deselected(items=dropped)
    return missing


def leave_out_strictly(
    config: pytest.Config,
    items: list[pytest.Item],
    reasons: dict[str, str],
    name_of: Callable[[pytest.Item], str] = file_and_name,
) -> None:
    """Like `leave_out`; a name without a test is an error of the list."""
    if missing := sorted(leave_out(config, items, reasons, name_of)):
        raise pytest.UsageError(f"left out, but there is no such test: {', '.join(missing)}")
