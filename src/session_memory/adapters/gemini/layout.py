"""Find the files of Gemini CLI's sessions.

tmp/<project>/chats/session-<time>-<id>.jsonl       a session
tmp/<project>/chats/<parent session>/<id>.jsonl     a subagent
tmp/<project>/chats/session-<time>-<id>.json        a session before 0.40: a document
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import logs, own_directory
from session_memory.core.roles import LOG, REWRITTEN

_PREFIX = ".gemini/tmp"
_DOCUMENT = ".json"
_SUFFIXES = (".jsonl", _DOCUMENT)
KEEPS_DAYS = 30
_HEADER = re.compile(rb'\s*\{\s*"sessionId": ?"[^"]{1,80}",\s*"projectHash": ?"')
_AGE = re.compile(r"(\d{1,5})([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24}


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$GEMINI_CLI_HOME/.gemini`` if the variable is set, else ``~/.gemini``."""
    configured = environ.get("GEMINI_CLI_HOME")
    return [(Path(configured).expanduser() if configured else home) / ".gemini"]


def keeps_days(root: Path) -> int | None:
    """Return after how many days Gemini CLI deletes a session; None if its settings say that it
    keeps them."""
    for directory in (root, root / ".gemini"):
        try:
            settings = json.loads((directory / "settings.json").read_bytes())
            kept = settings["general"]["sessionRetention"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if isinstance(kept, dict):
            if kept.get("enabled") is False:
                return None
            if found := _AGE.fullmatch(str(kept.get("maxAge", ""))):
                return max(int(found[1]) * _HOURS[found[2]] // 24, 1)
    return KEEPS_DAYS


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of Gemini CLI, or any other directory with its
    logs.
    """
    base = own_directory(root, ".gemini", "tmp", "*/chats/*.json*", recognizes)
    return logs(root, base, _SUFFIXES, recognizes, _ref, _loose_ref)


def _ref(path: Path, below: str) -> SourceRef | None:
    place = below.split("/")
    if "chats" not in place[1:-1]:
        return None
    parent = place[-2] if place[-2] != "chats" else ""
    return SourceRef(path, _role(path), f"{_PREFIX}/{below}", path.stem, parent)


def _loose_ref(path: Path, below: str) -> SourceRef:
    return SourceRef(path, _role(path), f"{_PREFIX}/gathered/chats/{below}", path.stem)


def _role(path: Path) -> str:
    return REWRITTEN if path.suffix == _DOCUMENT else LOG


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins with the header of a Gemini session."""
    return is_document(head) and b'"type": "qwen"' not in head


def is_document(head: bytes) -> bool:
    """Whether ``head`` begins with the header of a session of Gemini CLI, or of an old version of
    Qwen Code, which writes the same header."""
    return _HEADER.match(head) is not None
