"""Where the store and the hooks' own files are."""

import os

STATE = "hooks"


def home() -> str:
    return os.environ.get("HOME") or os.environ.get("USERPROFILE") or os.path.expanduser("~")


def own_directory() -> str:
    return os.path.join(home(), ".session-memory")


def state_directory() -> str:
    """Where hooks keep what they gave to sessions, and why they failed."""
    return os.path.join(own_directory(), STATE)


def store_place(path: str | None = None) -> str:
    """Return the same as `session_memory.config.default_store`, which takes longer to load.

    ``path``: another configuration file."""
    if named := os.environ.get("SESSION_MEMORY_STORE"):
        return named
    path = path or os.environ.get("SESSION_MEMORY_CONFIG")
    path = os.path.expanduser(path or os.path.join(own_directory(), "config.toml"))
    if os.path.exists(path):
        from tomllib import load

        with open(path, "rb") as file:
            named = load(file).get("store")
        if isinstance(named, str) and named:
            return named
    return os.path.join(own_directory(), "memory.db")
