"""Every byte of every log is in the store, and every token counts once, by an independent count."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from session_memory.store import Store
from session_memory.testing.collecting import collected

ROOT = Path(__file__).resolve().parent.parent.parent


def loaded() -> ModuleType:
    place = ROOT / "benchmarks" / "accounting.py"
    spec = importlib.util.spec_from_file_location("accounting", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["accounting"] = module
    spec.loader.exec_module(module)
    return module


ACCOUNTING = loaded()
HOMES = [ROOT / "tests" / "data" / name for name in ("claude", "codex", "grok")]


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_the_samples_of_the_agents_are_accounted_for(home: Path) -> None:
    for scenario in (path for path in sorted(home.iterdir()) if path.is_dir()):
        with collected(scenario) as store:
            found = ACCOUNTING.account_for(store, scenario)
            assert found.is_whole, (scenario, found)


def test_published_logs_are_accounted_for(
    public_logs: Path, collected_once: Callable[[Path], Store]
) -> None:
    found = ACCOUNTING.account_for(collected_once(public_logs), public_logs)
    assert found.is_whole, found


@pytest.mark.only("sqlite")
def test_what_is_not_counted_is_found() -> None:
    home = ROOT / "tests" / "data" / "claude" / "basic"
    with collected(home) as store:
        with store.transaction():
            store.db.execute("delete from usage")
        found = ACCOUNTING.account_for(store, home)
        assert found.missing and not found.is_whole
