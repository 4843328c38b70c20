"""Find the files of Vibe's sessions.

logs/session/unified/<session>/journal/<first sequence>.jsonl   a part of the journal
logs/session/unified/<session>/meta.json                        title, directory, model
logs/session/unified/<session>/generations/**, chunks/*         snapshots; they give no events
logs/session/session_<time>_<id>/messages.jsonl                 the log of versions before 3
logs/session/session_<time>_<id>/meta.json                      title, directory, model before 3
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import files_below
from session_memory.adapters.log_files import head_of, logs, own_directory
from session_memory.core.roles import DOCUMENT, SPILL

_HOME, _LOGS = ".vibe", "logs/session"
_PREFIX = f"{_HOME}/{_LOGS}"
_MESSAGES, _META = "messages.jsonl", "meta.json"
_SUFFIX = ".jsonl"
_JOURNAL = re.compile(rb'\s*\{"payload": ?\{.{0,200}', re.DOTALL)
_MARKS = (b'"recovery_journal_record_version"', b'"client_command_id"')
_MOST_FILES = 10_000


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$VIBE_HOME`` if it is set, else ``~/.vibe``."""
    configured = environ.get("VIBE_HOME")
    return [Path(configured).expanduser() if configured else home / _HOME]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of Vibe, or another directory with journals of Vibe.
    """
    base = own_directory(root, _HOME, _LOGS, "unified/*/journal/*.jsonl", recognizes)
    return logs(root, base, _SUFFIX, recognizes, _ref, _loose_ref)


def _ref(path: Path, below: str) -> SourceRef | None:
    place = below.split("/")
    if len(place) >= 3 and place[-2] == "journal":
        return _journal(path, place)
    if len(place) == 2 and path.name == _MESSAGES:
        about = f"{_PREFIX}/{place[0]}"
        beside = _companions(path.parent, about, place[0], (_META,))
        return SourceRef(
            path, home_path=f"{about}/{_MESSAGES}", session=place[0], companions=beside
        )
    return None


def _journal(path: Path, place: list[str]) -> SourceRef:
    """Return the source for a part of a journal.

    The other files of the session are companions of its newest part that is not empty: at the end
    of a run, Vibe begins an empty part.
    """
    session, directory = place[-3], path.parents[1]
    about = f"{_PREFIX}/{'/'.join(place[:-2])}"
    parts = (part for part in path.parent.glob(f"*{_SUFFIX}") if head_of(part))
    newest = max(parts, default=path)
    beside: tuple[SourceRef, ...] = ()
    if newest == path:
        beside = _companions(directory, about, session, (_META, "CURRENT", "scheduled-loops.json"))
        for name in ("generations", "chunks"):
            beside += _snapshots(directory / name, f"{about}/{name}", session)
    home_path = f"{about}/journal/{path.name}"
    return SourceRef(path, home_path=home_path, session=session, companions=beside)


def _snapshots(directory: Path, about: str, session: str) -> tuple[SourceRef, ...]:
    if not directory.is_dir():
        return ()
    found = (Path(name) for name, problem in files_below(str(directory)) if not problem)
    return tuple(
        SourceRef(path, SPILL, f"{about}/{path.relative_to(directory).as_posix()}", session)
        for path, _ in zip(found, range(_MOST_FILES), strict=False)
    )


def _companions(
    directory: Path, about: str, session: str, names: tuple[str, ...]
) -> tuple[SourceRef, ...]:
    return tuple(
        SourceRef(
            directory / name, DOCUMENT if name == _META else SPILL, f"{about}/{name}", session
        )
        for name in names
        if (directory / name).is_file()
    )


def _loose_ref(path: Path, below: str) -> SourceRef:
    """Return the source for a journal that somebody copied, with Vibe's directories above it or
    without."""
    if path.parent.name == "journal":
        place = below.split("/")
        return _journal(path, place if len(place) > 2 else list(path.parts[-3:]))
    return SourceRef(path, home_path=f"{_PREFIX}/unified/{below}", session=path.parent.name)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a journal of Vibe."""
    return _JOURNAL.match(head) is not None and all(mark in head for mark in _MARKS)
