"""Paths as people read them."""

import shlex
from pathlib import Path


def short_path(path: str | Path) -> str:
    """``path`` with ``~`` for the home directory."""
    # Loaded when a path is shown: reading the configuration takes other modules along.
    from session_memory.config import home

    text, base = str(path), str(home())
    return f"~{text[len(base) :]}" if base != "/" and text.startswith(f"{base}/") else text


def pasteable(path: str) -> str:
    """A path for a command that a person copies: one word for a shell, whatever its name is."""
    home = "~/" if path.startswith("~/") else ""
    return home + shlex.quote(path.removeprefix(home))
