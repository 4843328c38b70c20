"""The values of the options that every command takes, and the store that they open."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session_memory.config import Config
    from session_memory.memory import Memory
    from session_memory.store import Store


@dataclass
class Settings:
    """The values of the options that every command takes, set while the command line is parsed.

    If one of these options is given twice, the last value counts.
    """

    store: str | None = None
    config: Path | None = None
    as_json: bool = False
    no_color: bool = False
    quiet: bool = False
    opened_stores: "list[Store]" = field(default_factory=list)
    # Adapters with a problem that this run has already reported.
    named_adapters: set[str] = field(default_factory=set)

    def configuration(self) -> "Config":
        """The user's configuration, read from its file."""
        from session_memory.memory.base import read_configuration

        return read_configuration(self.config)

    def where(self, config: "Config | None" = None) -> str:
        """The path or address of the store. It may contain a password, so it must not be shown."""
        from session_memory.memory.base import store_place

        return store_place(self.store, lambda: config or self.configuration())

    def memory(self, config: "Config | None" = None, *, create: bool = False) -> "Memory":
        """Open the store and configuration that the options name; for use in a ``with`` block."""
        from session_memory.memory import Memory

        memory = Memory(self.store, config or self.config, create=create)
        self.opened_stores.append(memory.store)
        return memory

    @contextmanager
    def opened(self, config: "Config | None" = None, *, create: bool = False) -> "Iterator[Store]":
        """Open the store only, for commands that do not use the Python API (``Memory``)."""
        with self.memory(config, create=create) as memory:
            yield memory.store

    @property
    def chatty(self) -> bool:
        """Whether to print remarks for a person in addition to the answer."""
        return not (self.quiet or self.as_json)


def settings_of(ctx: click.Context) -> Settings:
    """Return the `Settings` of this run. Options before and after the command's name share them."""
    root = ctx.find_root()
    if root.obj is None:
        root.obj = Settings()
    settings: Settings = root.obj
    ctx.obj = settings
    return settings
