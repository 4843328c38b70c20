"""A pytest plugin: power-loop's own store tests, with our store in the place of theirs.

The names of `power_loop.runtime.session_store` are swapped before any test module is imported.
``power_loop_left_out.txt`` names the tests that are left out and says why; a line that names no
test is an error.
"""

from pathlib import Path

import power_loop
import power_loop.runtime.session_store
import pytest

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


def left_out() -> dict[str, str]:
    """Each test that is left out, with the reason above it."""
    reasons: dict[str, str] = {}
    reason = ""
    for line in LIST.read_text("utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            reasons[line] = reason
    return reasons


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reasons = left_out()
    names = [item.name.partition("[")[0] for item in items]
    if missing := sorted(reasons.keys() - set(names)):
        raise pytest.UsageError(f"left out, but there is no such test: {', '.join(missing)}")
    dropped = [item for item, name in zip(items, names, strict=True) if name in reasons]
    items[:] = [item for item, name in zip(items, names, strict=True) if name not in reasons]
    config.hook.pytest_deselected(items=dropped)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("left out, with the reasons")
    for name, reason in left_out().items():
        terminalreporter.line(f"{name}: {reason}")
