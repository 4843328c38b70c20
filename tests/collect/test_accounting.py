"""Every byte of every log is in the store, and every token counts once, by an independent count."""

import os
from pathlib import Path

import pytest
from independent_count import ACCOUNTING, ROOT

from session_memory.testing.collecting import collected

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or ROOT.parent / "shared")
HOMES = [ROOT / "tests" / "data" / name for name in ("claude", "codex", "grok")]


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_the_samples_of_the_agents_are_accounted_for(home: Path) -> None:
    for scenario in (path for path in sorted(home.iterdir()) if path.is_dir()):
        with collected(scenario) as store:
            found = ACCOUNTING.account_for(store, scenario)
            assert found.is_whole, (scenario, found)


@pytest.mark.only("postgresql")
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_published_logs_are_accounted_for_on_a_server(agent: str) -> None:
    """On SQLite, each collection of logs is by itself too: `test_public_logs.py`."""
    logs = SHARED / "samples" / "public" / agent
    if not logs.exists():
        pytest.skip("published logs are only in shared/samples/public: set SESSION_MEMORY_SHARED")
    with collected(logs) as store:
        found = ACCOUNTING.account_for(store, logs)
        assert found.is_whole, found


@pytest.mark.only("sqlite")
def test_what_is_not_counted_is_found() -> None:
    home = ROOT / "tests" / "data" / "claude" / "basic"
    with collected(home) as store:
        with store.transaction():
            store.db.execute("delete from usage")
        found = ACCOUNTING.account_for(store, home)
        assert found.missing and not found.is_whole
