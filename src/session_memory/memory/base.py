"""The store and the configuration that every part of the API works on."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from session_memory.memory.checks import a_flag, a_path

if TYPE_CHECKING:
    from session_memory.config import Config
    from session_memory.memory.follow import Follow
    from session_memory.store import Store

T = TypeVar("T")
IN_MEMORY = ":memory:"


def read_configuration(config: "Config | str | Path | None") -> "Config":
    """Return the given configuration, or read it from the given file or from the default place.

    A given file must exist.
    """
    from session_memory.config import Config, load_config
    from session_memory.core.errors import ConfigError

    if isinstance(config, Config):
        return config
    if config is None:
        return load_config()
    path = a_path("config", config)
    if not path.is_file():
        hint = "Name an existing file, or leave it out to use ~/.session-memory/config.toml."
        raise ConfigError(f"there is no configuration file {path}", hint)
    return load_config(path)


def store_place(store: str | Path | None, config: "Callable[[], Config]") -> str:
    """Return the path or address of the store. It may have a password, so it must not be shown.

    It is the given one, else ``SESSION_MEMORY_STORE``, else ``store`` of the configuration, else
    ``~/.session-memory/memory.db``.
    """
    from session_memory.config import default_store
    from session_memory.core.errors import InvalidRecord
    from session_memory.core.text import escaped, short_repr
    from session_memory.store.address import expanded, is_postgres

    if store is None:
        return expanded(default_store(config))
    if is_postgres(store):
        return str(store).strip()
    place = str(a_path("store", store))
    if place != escaped(place):
        # SQLite takes only names in Unicode.
        hint = "Give a path that is valid UTF-8."
        raise InvalidRecord(f"store is {short_repr(place)}", hint, field="store")
    return place


def without_secrets(answer: T) -> T:
    """Return a copy of an answer with every secret in it masked.

    It is for answers such as lessons and fixes, which are copied into instruction files and given
    to models.
    """
    from session_memory.redact import mask_together

    masked: T = mask_together(answer)
    return masked


class OpenMemory:
    """An open store with the user's configuration.

    The configuration is read when something needs it for the first time, and then kept.
    """

    def __init__(
        self,
        store: str | Path | None = None,
        config: "Config | str | Path | None" = None,
        *,
        create: bool = True,
        durability: str = "full",
    ) -> None:
        a_flag("create", create)
        self._given_config = config
        self._config: Config | None = None
        self._place = store_place(store, lambda: self.config)
        self._durability = durability
        self._store: Store | None = self._open(create=create)
        self._name = self._store.db.name
        # When the memory is closed, every `follow` that was started from it is stopped.
        self._follows: WeakSet[Follow] = WeakSet()

    def _open(self, *, create: bool = False) -> "Store":
        """Open a new connection to the same store, with the user's own prices."""
        from session_memory.store import open_store

        opened = open_store(self._place, durability=self._durability, create=create)
        opened.own_prices = lambda: self.config.prices
        opened.archive_dir = lambda: self.config.retention.archive_dir
        return opened

    @property
    def store(self) -> "Store":
        """The open store, for questions that have no method here."""
        self._refuse_closed()
        assert self._store is not None
        return self._store

    def _refuse_closed(self) -> None:
        if self._store is None:
            from session_memory.core.errors import StoreClosed

            raise StoreClosed("the memory")

    @property
    def config(self) -> "Config":
        """The user's configuration."""
        if self._config is None:
            self._config = read_configuration(self._given_config)
        return self._config

    @property
    def place(self) -> str:
        """Where the store is, without the password of a server."""
        return self._name

    def _uid(self, session: object) -> str:
        from session_memory.core.errors import InvalidRecord
        from session_memory.core.text import short_repr
        from session_memory.views.lookup import find_session

        if not isinstance(session, str):
            hint = "Give a uid, the beginning of one, or a title."
            message = f"a session must be a text, not {short_repr(session)}"
            raise InvalidRecord(message, hint, field="session")
        return find_session(self.store, session)

    def _complete_index(self) -> None:
        """Build the search index if it is incomplete, for example after an update."""
        if not self.store.index.is_complete:
            from session_memory.derive.reindex import ensure_index

            ensure_index(self.store)

    def _refuse_in_memory(self, what: str) -> None:
        from session_memory.core.errors import StoreError

        if self._place == IN_MEMORY:
            raise StoreError(f"a store in memory cannot {what}", "Use a store in a file.")
