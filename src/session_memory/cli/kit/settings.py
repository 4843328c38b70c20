"""What the options that every command takes have come to."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session_memory.config import Config
    from session_memory.store import Store


@dataclass
class Settings:
    """Filled while the command line is parsed; the last word wins."""

    store: str | None = None
    config: Path | None = None
    as_json: bool = False
    no_color: bool = False
    quiet: bool = False

    def configuration(self) -> "Config":
        from session_memory.config import load_config

        return load_config(self.config)

    def where(self, config: "Config | None" = None) -> str:
        """The path or address of the store, a password included: not to be shown.

        The option, else the environment, else the configuration, else the default.
        """
        from session_memory.config import default_store
        from session_memory.store.address import expanded

        return expanded(self.store or default_store(config or self.configuration()))

    @contextmanager
    def opened(self, config: "Config | None" = None, *, create: bool = False) -> "Iterator[Store]":
        from session_memory.store import open_store

        with open_store(self.where(config), create=create) as store:
            store.own_prices = lambda: (config or self.configuration()).prices
            yield store

    @property
    def chatty(self) -> bool:
        """Whether remarks for a person, beside the answer itself, are welcome."""
        return not (self.quiet or self.as_json)


def settings_of(ctx: click.Context) -> Settings:
    """The one `Settings` of this run; options before and after the command share it."""
    root = ctx.find_root()
    if root.obj is None:
        root.obj = Settings()
    settings: Settings = root.obj
    ctx.obj = settings
    return settings
