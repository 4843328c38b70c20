"""Write paths for people: short, or ready to paste into a shell."""

import shlex
from pathlib import Path


def short_path(path: str | Path) -> str:
    """Return ``path`` with ``~`` for the home directory."""
    # Imported only when a path is shown, because this imports other modules, too.
    from session_memory.config import home

    text, base = str(path), str(home())
    return f"~{text[len(base) :]}" if base != "/" and text.startswith(f"{base}/") else text


def pasteable(path: str) -> str:
    """Quote a path for a command that a person copies, so that a shell reads it as one word."""
    home = "~/" if path.startswith("~/") else ""
    return home + shlex.quote(path.removeprefix(home))
