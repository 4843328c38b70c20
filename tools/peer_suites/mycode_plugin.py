"""A pytest plugin: mycode's own session tests, with our store in the place of theirs.

Every name of theirs that we have too is swapped in all of their modules before a test module is
imported. ``mycode_left_out.txt`` names the tests that are left out and says why; the summary prints
them. The environment variable MYCODE_RELEASE is the release under test.
"""

import os
import sys
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from left_out import file_and_name, leave_out, reasons_in

LIST = Path(__file__).with_name("mycode_left_out.txt")
RELEASE = os.environ["MYCODE_RELEASE"]
# Release 0.4 has all names in one module. Since 0.7 the command line has a store of its own.
OURS = {
    "0.4.2": {"mycode.session": "session_memory.live.mycode"},
    "0.21.0": {
        "mycode.session": "session_memory.live.mycode_catalog",
        "mycode_cli.sessions": "session_memory.live.mycode_catalog",
    },
}[RELEASE]


def swap(theirs: ModuleType, ours: ModuleType) -> None:
    """Replace the names of one module, also where other modules have imported them."""
    names = [name for name in ours.__all__ if hasattr(theirs, name)]
    replaced: dict[int, Any] = {}
    for name in names:
        before = getattr(theirs, name)
        if callable(before):
            replaced[id(before)] = getattr(ours, name)
        setattr(theirs, name, getattr(ours, name))
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] in PACKAGES]:
        for name, value in list(vars(module).items()):
            if id(value) in replaced:
                setattr(module, name, replaced[id(value)])


PACKAGES = ("mycode", "mycode_cli")
if metadata.version("mycode-sdk") != RELEASE:
    raise pytest.UsageError(f"mycode-sdk {metadata.version('mycode-sdk')} is not {RELEASE}")
import_module("mycode_cli.server.app")
for theirs_name, ours_name in OURS.items():
    swap(import_module(theirs_name), import_module(ours_name))


def left_out() -> dict[str, str]:
    """Each test of this release that is left out, with the reason. The list names the release."""
    named = (tuple(line.split(" ", 1)) + (reason,) for line, reason in reasons_in(LIST).items())
    return {name: reason for release, name, reason in named if release == RELEASE}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, left_out())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stats, reasons = terminalreporter.stats, left_out()
    dropped = {file_and_name(item) for item in stats.get("deselected", ())}
    counts = [f"{len(stats.get(name, ()))} {name}" for name in ("passed", "failed", "error")]
    terminalreporter.write_line(f"mycode {RELEASE}: {', '.join(counts)}, {len(dropped)} left out")
    for name, reason in reasons.items():
        # A checkout of another commit may have other tests than the release.
        word = "left out" if name in dropped else "no such test"
        terminalreporter.write_line(f"  {word}: {name}: {reason}")
