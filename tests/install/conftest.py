"""Every test has a home of its own, and no variable leads an agent elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from session_memory.cli import main

FOREIGN = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GROK_HOME",
    "NO_COLOR",
    "SESSION_MEMORY_CONFIG",
    "SESSION_MEMORY_DEBUG",
    "SESSION_MEMORY_STORE",
    "XDG_CONFIG_HOME",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def run() -> Callable[..., Result]:
    return lambda *words, **options: CliRunner().invoke(main, words, **options)


@pytest.fixture
def answer(run: Callable[..., Result]) -> Callable[..., dict]:
    """What a command prints with --json."""

    def asked(*words: str) -> dict:
        result = run(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return asked
