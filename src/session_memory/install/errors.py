"""The errors of installing."""

from session_memory.core.errors import SessionMemoryError


class InstallError(SessionMemoryError):
    """An agent's file cannot be changed. Nothing was written."""
