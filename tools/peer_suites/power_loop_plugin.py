"""A pytest plugin: power-loop's own store tests, with our store in the place of theirs.

The names of `power_loop.runtime.session_store` are swapped before any test module is imported.
``power_loop_left_out.txt`` names the tests that are left out and says why; a line that names no
test is an error.
"""

from pathlib import Path

import power_loop
import power_loop.runtime.session_store
import pytest
from left_out import leave_out_strictly, reasons_in

import session_memory.live

LIST = Path(__file__).with_name("power_loop_left_out.txt")
SWAPPED = (
    *("MAX_SPAWN_DEPTH", "SessionStore", "SessionKind", "SessionStatus", "SubagentLifecycle"),
    *("MessageState", "SessionRow", "MessageRow", "SessionStateRow", "CompactionRow"),
)

for module in (power_loop, power_loop.runtime.session_store):
    for name in SWAPPED:
        if hasattr(module, name):
            setattr(module, name, getattr(session_memory.live, name))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_strictly(config, items, reasons_in(LIST), lambda item: item.name.partition("[")[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("left out, with the reasons")
    for name, reason in reasons_in(LIST).items():
        terminalreporter.line(f"{name}: {reason}")
