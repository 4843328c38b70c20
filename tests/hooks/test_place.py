"""Hooks find the same store as every command, without loading the configuration's schema."""

from pathlib import Path

import pytest

from session_memory.config import default_store, load_config
from session_memory.hooks.place import store_place

pytestmark = pytest.mark.only("sqlite")


@pytest.mark.parametrize("config", [None, "", 'store = "/x/a.db"', 'store = ""\nhost = "h"'])
@pytest.mark.parametrize("named", [None, "/x/b.db", "postgresql://db/memory"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_place_of_the_store(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: str | None,
    named: str | None,
    elsewhere: bool,
) -> None:
    file = home / "own.toml" if elsewhere else home / ".session-memory" / "config.toml"
    if config is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(config)
        if elsewhere:
            monkeypatch.setenv("SESSION_MEMORY_CONFIG", str(file))
    if named is not None:
        monkeypatch.setenv("SESSION_MEMORY_STORE", named)
    assert store_place() == default_store(load_config)
    if config is not None and named is None:
        assert store_place(str(file)) == default_store(lambda: load_config(file))
