"""Count how often sessions read, edited and wrote each file.

A call counts as a read or a change if its result is in the log and is no error. A failed call only
counts as failed, and a call without a result only as open.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from session_memory.core.schema import Session
from session_memory.core.time import format_time
from session_memory.derive.agents import changes_asked
from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.store import Store
from session_memory.store.events import CallRow
from session_memory.views.calls import calls_of
from session_memory.views.paths import path_from

_READING = frozenset(
    {"read", "read_file", "view", "view_image", "cat", "read_many_files", "notebookread", "open"}
)
_WRITING = frozenset({"write", "write_file", "create", "write_to_file", "create_file"})
_PATCHING = frozenset({"apply_patch", "applypatch", "filechange"})
SORTS = ("path", "read", "changed", "recent")


class FileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One file and the calls that used it. ``other`` counts calls that only named it, such as
    searches."""

    repo: str | None = None
    path: str
    reads: int = 0
    edits: int = 0
    writes: int = 0
    other: int = 0
    failed: int = 0
    open: int = 0
    sessions: int = 0
    last_at: str | None = None

    @property
    def changes(self) -> int:
        return self.edits + self.writes


class FileList(msgspec.Struct, frozen=True):
    """The files of ``sessions`` sessions. ``evicted`` counts further sessions that match and were
    not read, because their logs are in the archive."""

    files: list[FileRow]
    total: int
    sessions: int
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        files = [msgspec.to_builtins(row) for row in self.files]
        more = {"evicted": self.evicted} if self.evicted else {}
        return {"files": files, "total": self.total, "sessions": self.sessions, **more}


def list_files(
    store: Store,
    sessions: Iterable[Session],
    *,
    sort: str = "changed",
    limit: int = 0,
    from_archive: bool = False,
) -> FileList:
    """List the files that sessions used; ``sort`` is one of `SORTS`, and ``limit`` 0 means all.

    Evicted sessions are only counted, unless ``from_archive`` is set.
    """
    counted: FilesByName = {}
    number = evicted = 0
    for session in sessions:
        if session.evicted_at is not None and not from_archive:
            evicted += 1
            continue
        number += 1
        count_files(store, session, counted)
    return listing(counted, sort, limit, number, evicted)


def count_files(store: Store, session: Session, counted: "FilesByName") -> None:
    """Add the files that a session used to ``counted``."""
    touched = set()
    for call, state, paths in _calls(store, session):
        for path in paths:
            path = path_from(path, session.cwd)
            key = None if path.startswith("/") else session.repo, path
            counted.setdefault(key, TouchedFile()).add(call, state)
            touched.add(key)
    for key in touched:
        counted[key].calls["sessions"] += 1


def listing(counted: "FilesByName", sort: str, limit: int, sessions: int, evicted: int) -> FileList:
    rows = (counts.row(repo, path) for (repo, path), counts in counted.items())
    found = sorted(rows, key=_KEYS[sort])
    if sort == "recent":
        found.sort(key=lambda row: row.last_at or "", reverse=True)
    return FileList(found[:limit] if limit else found, len(found), sessions, evicted)


_KEYS = {
    "path": lambda row: (row.path, row.repo or ""),
    "read": lambda row: (-row.reads, row.path, row.repo or ""),
    "changed": lambda row: (-row.changes, -row.reads, row.path, row.repo or ""),
    "recent": lambda row: (row.path, row.repo or ""),
}


def _calls(store: Store, session: Session) -> Iterator[tuple[CallRow, str, list[str]]]:
    """Yield each call, its state (``ok``, ``failed`` or ``open``), and the files that it names."""
    store = readable_store(store, session.session_uid)
    row = store.sessions.row(session.session_uid)
    rows = store.events.calls(row.id) if row else []
    results = [one for one in rows if "tool_result" in one.kinds]
    ended = {one.call_id: "failed" if one.is_error else "ok" for one in results}
    # Some agents apply an edit that the model wrote into its answer. Such an edit has no call.
    calls = [one for one in rows if "tool_call" in one.kinds or _is_plain_edit(one)]
    patched = {}
    if any(_is_patch(one) for one in calls):
        patched = _patched(store, session.session_uid)
    for one in calls:
        named = [one.path] if one.path else []
        state = "ok" if one.call_id is None else ended.get(one.call_id, "open")
        yield one, state, patched.get(one.seq) or named


def _is_plain_edit(row: CallRow) -> bool:
    return row.call_id is None and "edit" in row.kinds


def _is_patch(call: CallRow) -> bool:
    return "edit" in call.kinds and (call.tool or "").lower() in _PATCHING


def _patched(store: Store, uid: str) -> dict[int, list[str]]:
    """Return all files that each patch changes, by seq. The event of a patch names only one."""
    bodies = Bodies(store)
    found = {}
    for call in calls_of(store, uid):
        if call.event.is_a("edit") and (call.event.tool or "").lower() in _PATCHING:
            body = bodies.of(call.event)
            changes = changes_asked(call.event.session_uid, body.arguments, body.text)
            found[call.event.seq] = list(dict.fromkeys(change.path for change in changes))
    return found


class TouchedFile:
    """Counts the calls that named one file, by what they did: reads, edits, writes, …"""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.last_at: int | None = None

    def add(self, call: CallRow, state: str) -> None:
        tool = (call.tool or "").lower()
        if state != "ok":
            self.calls[state] += 1
        elif tool in _READING:
            self.calls["reads"] += 1
        elif "edit" in call.kinds:
            self.calls["writes" if tool in _WRITING else "edits"] += 1
        else:
            self.calls["other"] += 1
        if call.ts is not None:
            self.last_at = call.ts if self.last_at is None else max(self.last_at, call.ts)

    def row(self, repo: str | None, path: str) -> FileRow:
        last = None if self.last_at is None else format_time(self.last_at)
        return FileRow(repo=repo, path=path, last_at=last, **self.calls)


FilesByName = dict[tuple[str | None, str], TouchedFile]
