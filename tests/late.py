"""Modules that take a second to import, and only in the worker that runs their tests."""

from importlib import import_module
from typing import Any


class Late:
    """Looks like the module ``name``, and imports it when something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
