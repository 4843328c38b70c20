"""Where Codex keeps its sessions, and what each file there is.

sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl               a session
sessions/YYYY/MM/DD/rollout-<time>-<thread>_<rollout>.jsonl     the same, after a revert
archived_sessions/rollout-<time>-<thread>.jsonl                 an archived session
any of them with .zst                                           a compressed session

A session that is archived or compressed stays the same source, under the path it had before.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import files_below, is_an_agents

_SNIFFED = 65536
_PREFIX = ".codex"
_SESSIONS, _ARCHIVE = "sessions", "archived_sessions"
_NAME = re.compile(
    r"rollout-(?P<date>\d{4}-\d\d-\d\d)T[\d-]{8}-(?P<thread>[^_]+?)(?:_[^.]+)?\.jsonl(?:\.zst)?"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$CODEX_HOME`` if it is set, else ``~/.codex``."""
    if configured := environ.get("CODEX_HOME"):
        return [Path(configured).expanduser()]
    return [home / ".codex"]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield every source below ``root``: Codex' directory, a user's home, a directory ``sessions``
    or ``archived_sessions``, or any other directory or file with logs."""
    for base in (root, root / ".codex", root.parent):
        if base is root.parent and root.name not in (_SESSIONS, _ARCHIVE):
            break
        try:
            is_there = (base / _SESSIONS).is_dir() or (base / _ARCHIVE).is_dir()
        except OSError as error:
            yield Unlisted(base / "*.jsonl", f"unreadable directory: {error.strerror}")
            return
        if is_there and _has_rollouts(base):
            yield from _rollouts(base, root if base is root.parent else base)
            return
    if not is_an_agents(root):
        yield from _loose(root)


def _has_rollouts(base: Path) -> bool:
    """Whether ``base`` has logs of Codex: another program may have a directory ``sessions`` too."""
    return base.name == ".codex" or any(
        _NAME.fullmatch(path.rpartition(os.sep)[2])
        for part in (_SESSIONS, _ARCHIVE)
        for path, _ in files_below(str(base / part))
    )


def _rollouts(base: Path, within: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the logs below ``base``, each under the path that it had first.

    If a log is there more than once, a file in ``sessions`` is preferred to one in the archive, and
    then a plain file to a compressed one. Only files in the directory ``within`` count.
    """
    found: dict[Path, SourceRef] = {}
    for part in (_SESSIONS, _ARCHIVE):
        plain_first = sorted(
            files_below(str(base / part)), key=lambda file: (file[0].endswith(".zst"), file[0])
        )
        for name, problem in plain_first:
            path = Path(name)
            if not path.name.endswith((".jsonl", ".jsonl.zst")):
                continue
            if within not in (base, base / part):
                continue
            if problem:
                yield Unlisted(path, problem)
                continue
            ref = _rollout(base, path)
            found.setdefault(ref.path, ref)
    yield from (found[path] for path in sorted(found))


def _rollout(base: Path, place: Path) -> SourceRef:
    name = place.name.removesuffix(".zst")
    named = _NAME.fullmatch(name)
    path = place.with_name(name)
    if base / _ARCHIVE in place.parents and named:
        path = base.joinpath(_SESSIONS, *named["date"].split("-"), name)
    parts = path.relative_to(base).parts
    return SourceRef(
        path,
        home_path="/".join((_PREFIX, *parts)),
        session=_thread(name),
        at=place if place != path else None,
    )


def _thread(name: str) -> str:
    """Return the id of the thread in a file's name; the whole name if there is none in it."""
    if named := _NAME.fullmatch(name):
        return named["thread"]
    stem = name.partition(".jsonl")[0]
    uuid = _UUID.search(stem)
    return uuid[0] if uuid else stem


def _loose(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield logs that somebody copied to another directory. Their first bytes tell that they are
    Codex'; for a compressed log, only its name does."""
    base = root if root.is_dir() else root.parent
    alone = [(str(root), "" if root.is_file() else "no file")]
    listed = list(files_below(str(root))) if root.is_dir() else alone
    plain = {name for name, problem in listed if not problem}
    for name, problem in listed:
        place = Path(name)
        compressed = bool(_NAME.fullmatch(place.name)) and place.name.endswith(".zst")
        if not (name.endswith(".jsonl") or compressed):
            continue
        if problem:
            yield Unlisted(place, problem)
            continue
        if compressed and name.removesuffix(".zst") in plain:
            continue
        try:
            if not compressed and not recognizes(_head(place)):
                continue
        except OSError as error:
            yield Unlisted(place, error.strerror or str(error))
            continue
        path = place.with_name(place.name.removesuffix(".zst"))
        parts = path.relative_to(base).parts
        yield SourceRef(
            path,
            home_path="/".join((_PREFIX, _SESSIONS, *parts)),
            session=_thread(path.name),
            at=place if compressed else None,
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SNIFFED)


class _Head(msgspec.Struct):
    type: str = ""
    id: str | None = None
    timestamp: str | None = None
    record_type: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"")
    instructions: msgspec.Raw = msgspec.Raw(b"")


_TYPES = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
    | {"token_usage_record"}
)
_CUT = re.compile(
    rb'\s*\{(?:"timestamp": ?"[^"]{10,40}", ?(?:"ordinal": ?\d+, ?)?"type": ?"session_meta", ?'
    rb'"payload"'
    rb'|"id": ?"[^"]{1,80}", ?"timestamp": ?"[^"]{10,40}", ?"instructions": ?")'
)
_head_of = msgspec.json.Decoder(_Head).decode


def recognizes(head: bytes) -> bool:
    """Whether the first bytes of a file look like a log of Codex: lines with a time, a type and a
    payload, or the header without a type that first versions wrote."""
    lines = head.split(b"\n")
    if any(map(_is_ours, lines[:-1][:8])):
        return True
    return bool(_CUT.match(lines[0]))


def _is_ours(line: bytes) -> bool:
    try:
        first = _head_of(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    if first.payload:
        return first.type in _TYPES and bool(first.timestamp)
    if first.record_type == "state":
        return True
    return not first.type and bool(first.id and first.timestamp and first.instructions)
