"""Find the files of Kimi's sessions.

.kimi-code/sessions/wd_<directory>_<hash>/<session>/agents/<agent>/wire.jsonl  a log
.kimi-code/sessions/wd_<directory>_<hash>/<session>/state.json                 title and origin
.kimi/sessions/<hash>/<session>/wire.jsonl                    kimi-cli: a log
.kimi/sessions/<hash>/<session>/subagents/<agent>/wire.jsonl  kimi-cli: the log of a subagent
.kimi/sessions/<hash>/<session>/context.jsonl                 kimi-cli: messages for the model
.kimi/sessions/<hash>/<session>.jsonl                         first kimi-cli: messages for the model
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import logs, own_directory
from session_memory.core.roles import DOCUMENT, SPILL

_NEW, _OLD = ".kimi-code", ".kimi"
_LOG, _STATE, _CONTEXT = "wire.jsonl", "state.json", "context.jsonl"
_SUFFIX = ".jsonl"
MAIN = "main"
_FIRST = re.compile(rb'\s*\{"type": ?"metadata", ?"protocol_version": ?"[^"]{1,20}"[,}]')
_WIRE = re.compile(rb'\s*\{"timestamp": ?[\d.]+, ?"message": ?\{"type": ?"[A-Z]\w+", ?"payload"')
_DIRECTORY = re.compile(r"wd_(.+)_[0-9a-f]{12}")


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the directories of Kimi Code (``$KIMI_CODE_HOME``, else ``~/.kimi-code``) and kimi-cli
    (``$KIMI_SHARE_DIR``, else ``~/.kimi``)."""
    new, old = environ.get("KIMI_CODE_HOME"), environ.get("KIMI_SHARE_DIR")
    return [
        Path(new).expanduser() if new else home / _NEW,
        Path(old).expanduser() if old else home / _OLD,
    ]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory of sessions belongs to a repository whose name fits ``pattern``.

    Kimi Code names the directory after the last part of the working directory.
    """
    named = _DIRECTORY.fullmatch(name)
    return fnmatchcase(named[1] if named else name, pattern)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of Kimi, or another directory with logs of Kimi.
    """
    new = own_directory(root, _NEW, "sessions", f"wd_*/*/agents/*/{_LOG}", recognizes)
    old = own_directory(root, _OLD, "sessions", f"*/*/{_LOG}", recognizes)
    if new is not None or old is None:
        yield from logs(root, new, _LOG, recognizes, _ref, _loose_ref)
    if old is not None:
        yield from logs(root, old, _SUFFIX, recognizes, _old_ref)


def _ref(path: Path, below: str) -> SourceRef | None:
    """Return the source for a log of Kimi Code,
    ``<directory>/<session>/agents/<agent>/wire.jsonl``; None for other files."""
    place = below.split("/")
    if path.name != _LOG or len(place) < 4 or place[-3] != "agents":
        return None
    session, agent = place[-4], place[-2]
    home_path = f"{_NEW}/sessions/{below}"
    if agent != MAIN:
        return SourceRef(path, home_path=home_path, session=session, agent=agent)
    about = f"{_NEW}/sessions/{'/'.join(place[:-3])}"
    beside = _companion(path.parents[2] / _STATE, DOCUMENT, about, session)
    return SourceRef(path, home_path=home_path, session=session, companions=beside)


def _old_ref(path: Path, below: str) -> SourceRef | None:
    """Return the source for a log of kimi-cli; None for other files.

    The log is ``wire.jsonl``, in the oldest versions ``<session>.jsonl``. Without ``wire.jsonl``,
    the file ``context.jsonl`` is the source.
    """
    place, home_path = below.split("/"), f"{_OLD}/sessions/{below}"
    about = home_path.rpartition("/")[0]
    if len(place) == 2:
        return SourceRef(path, home_path=home_path, session=path.name.removesuffix(_SUFFIX))
    if len(place) == 5 and place[2] == "subagents" and path.name == _LOG:
        beside = _companion(path.with_name(_CONTEXT), SPILL, about, place[1], place[3])
        return SourceRef(
            path, home_path=home_path, session=place[1], agent=place[3], companions=beside
        )
    has_log = path.name == _LOG or path.with_name(_LOG).is_file()
    if len(place) != 3 or path.name not in (_LOG, _CONTEXT) or (path.name != _LOG and has_log):
        return None
    beside = _companion(path.with_name(_STATE), DOCUMENT, about, place[1])
    for context in sorted(path.parent.glob("context*.jsonl")) if path.name == _LOG else ():
        beside += _companion(context, SPILL, about, place[1])
    return SourceRef(path, home_path=home_path, session=place[1], companions=beside)


def _companion(
    path: Path, role: str, about: str, session: str, agent: str = ""
) -> tuple[SourceRef, ...]:
    if not path.is_file():
        return ()
    return (SourceRef(path, role, f"{about}/{path.name}", session, agent),)


def _loose_ref(path: Path, below: str) -> SourceRef:
    """Return the source for a log that somebody copied, with Kimi's directories above it or
    without."""
    full = "/".join(path.parts[-5:])
    found = _ref(path, below if below.count("/") > 2 else full.lstrip("/"))
    if found is not None:
        return found
    return SourceRef(path, home_path=f"{_NEW}/sessions/{below}", session=path.parent.name)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a log of Kimi Code or kimi-cli."""
    return _FIRST.match(head) is not None or _WIRE.match(head) is not None
