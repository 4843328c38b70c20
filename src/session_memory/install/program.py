"""Find the words that start this installation of the program, to write them into other files."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from session_memory.config import CONFIG_VARIABLE, STORE_VARIABLE, home
from session_memory.core.errors import ConfigError
from session_memory.store.address import has_password, is_postgres, is_unknown_address

PROGRAM = "session-memory"
PACKAGE = Path(__file__).parents[1]


def program_words() -> list[str]:
    """Return the full path of the program, else the words that run the package with Python."""
    started = Path(sys.argv[0])
    if started.name == PROGRAM and started.is_file():
        # A link is not resolved, because an upgrade may change where it leads.
        return [str(started.absolute())]
    installed = Path(sys.executable).with_name(PROGRAM)
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "session_memory"]


def is_temporary(program: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the program is in a directory that is emptied now and then, as with ``uvx``."""
    path = Path(program)
    cache = environ.get("UV_CACHE_DIR") or environ.get("XDG_CACHE_HOME")
    caches = [home(environ) / ".cache", home(environ) / "Library" / "Caches"]
    caches += [Path(cache)] if cache else []
    return any(place in path.parents for place in caches)


def option_words(
    store: str | None, config: Path | None, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return ``--store`` and ``--config`` with what the arguments or the environment name."""
    words = []
    if named := store or environ.get(STORE_VARIABLE):
        words += ["--store", written_store(named)]
    if file := config or environ.get(CONFIG_VARIABLE):
        words += ["--config", str(Path(file).expanduser().absolute())]
    return words


def written_store(store: str) -> str:
    """Return an absolute path, or the address of a server. Raises if that has a password."""
    if is_unknown_address(store):
        # The message does not quote the text, because it may contain a password.
        hint = "Give the path of a file, or an address: postgresql://user@host:5432/database"
        raise ConfigError("the store is neither a file nor a PostgreSQL address", hint)
    if not is_postgres(store):
        return str(Path(store).expanduser().absolute())
    if has_password(store):
        message = "the address of the store has a password, which must not be in a file of settings"
        hint = "Put the password into ~/.pgpass, or the address into the configuration file."
        raise ConfigError(message, hint)
    return store.strip()
