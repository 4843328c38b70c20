"""Modules that take a second to import, and only in the worker that runs their tests."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

LARGE = ("agents", "claude_agent_sdk", "duckdb", "mcp", "openai", "power_loop", "pyarrow")
# Those of them that were imported when all tests were collected: each worker would import them.
LOADED_BY_COLLECTING: list[str] = []


class Late:
    """Looks like the module ``name``, and imports it when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            # pytest asks everything in a test module for such names, in search of fixtures.
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def late_or_skip(name: str, reason: str) -> Late:
    """The module ``name``. Without its package the tests of the calling module are skipped."""
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(reason, allow_module_level=True)
    return Late(name)


def note_what_is_loaded() -> None:
    LOADED_BY_COLLECTING[:] = [name for name in LARGE if name in sys.modules]
