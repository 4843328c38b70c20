"""Find the files of Qwen Code's sessions.

projects/<slug>/chats/<session>.jsonl                       a session
projects/<slug>/subagents/<session>/agent-<id>.jsonl        a subagent, with .meta.json
tmp/<project>/chats/session-<time>-<id>.json                a session up to 0.3: a document
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gemini.layout import is_document
from session_memory.adapters.log_files import logs, own_directory
from session_memory.core.roles import DOCUMENT, REWRITTEN

_PREFIX = ".qwen/projects"
_OLD_PREFIX, _OLD = ".qwen/tmp", ".json"
_SUFFIX, _META = ".jsonl", ".meta.json"
_AGENT = "agent-"
_LINE = re.compile(
    rb'\s*\{"uuid": ?"[^"]{1,80}", ?"parentUuid": ?(?:null|"[^"]{1,80}"), ?"sessionId": ?"'
)
_ONLY_OURS = (b'"provenance":', b'"parts":', b'"systemPayload":')


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$QWEN_RUNTIME_DIR`` or ``$QWEN_HOME`` if set, else ``~/.qwen``."""
    configured = environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME")
    return [Path(configured).expanduser() if configured else home / ".qwen"]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of Qwen Code, or another directory with logs of Qwen
    Code.
    """
    base = own_directory(root, ".qwen", "projects", "*/chats/*.jsonl", recognizes)
    old = own_directory(root, ".qwen", "tmp", "*/chats/*.json", _is_old)
    if base is not None or old is None:
        yield from logs(root, base, (_SUFFIX, _OLD), recognizes, _ref, _loose_ref)
    if old is not None:
        yield from logs(root, old, _OLD, recognizes, _old_ref)


def _old_ref(path: Path, below: str) -> SourceRef | None:
    if below.split("/")[-2:-1] != ["chats"]:
        return None
    return SourceRef(path, REWRITTEN, f"{_OLD_PREFIX}/{below}", path.stem)


def _is_old(head: bytes) -> bool:
    return is_document(head) and b'"type": "qwen"' in head


def _ref(path: Path, below: str) -> SourceRef | None:
    place = below.split("/")
    if path.suffix == _OLD:
        return None
    if place[-2:-1] == ["chats"]:
        return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=path.stem)
    if "subagents" in place[1:-2] and path.name.startswith(_AGENT):
        return _subagent(path, f"{_PREFIX}/{below}", place[-2])
    return None


def _loose_ref(path: Path, below: str) -> SourceRef:
    if path.suffix == _OLD:
        return SourceRef(path, REWRITTEN, f"{_OLD_PREFIX}/gathered/chats/{below}", path.stem)
    home_path = f"{_PREFIX}/gathered/chats/{below}"
    if path.name.startswith(_AGENT):
        return _subagent(path, home_path, "")
    return SourceRef(path, home_path=home_path, session=path.stem)


def _subagent(path: Path, home_path: str, session: str) -> SourceRef:
    agent = path.stem.removeprefix(_AGENT)
    meta = path.with_name(path.stem + _META)
    beside = SourceRef(meta, DOCUMENT, home_path.removesuffix(_SUFFIX) + _META, session, agent)
    companions = (beside,) if session and meta.is_file() else ()
    return SourceRef(path, home_path=home_path, session=session, agent=agent, companions=companions)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins with a line of Qwen Code, or like a document of old versions.

    Lines of Claude Code are similar, so a field is needed that only Qwen Code writes.
    """
    if _is_old(head):
        return True
    return _LINE.match(head) is not None and any(name in head for name in _ONLY_OURS)
