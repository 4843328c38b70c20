"""Read the store of the first collector, the program before this one: JSON files with records of
schema version 1.

Everything in it may be wrong, because it may come from anybody. The content of a file decides what
it is, not its name: sessions, events, digests, alone or in lists, one per file or one per line. The
body of an event is in the file that its ``payload_ref`` names. Nothing outside the directory is
read, and no link is followed. Files with other JSON (a catalog, a registry) are only listed.
"""

import gzip
import io
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord, SessionMemoryError
from session_memory.core.first_schema import (
    CALLS,
    DIGEST,
    ENDING,
    EVENT,
    FIRST_PLACE,
    RESULTS,
    SESSION,
)
from session_memory.core.roles import LOG
from session_memory.core.schema import Session, SessionEvent
from session_memory.retain.portable_reading import ImportedSource
from session_memory.store.sources import NO_INODE, SourceRow, source_uid
from session_memory.store.store import Store

HOME_PLACE = ".session-memory/schema-v1"
LARGEST_FILE = 256 * 1024**2
LARGEST_PAYLOAD = 16 * 1024**2
MOST_FILES = 2_000_000
FIRST_RECORDS = (".json", ".jsonl", ".ndjson")
_DIGEST_FIELDS = frozenset({"error_snippets", "markers", "histograms", "kinds", "tools", "digest"})


class FirstRecords(msgspec.Struct):
    """The records of one session. ``events``: the seq of an event → its JSON."""

    session: dict[str, Any] | None = None
    events: dict[int, bytes] = {}
    digests: list[dict[str, Any]] = []


class FirstStore:
    """A directory or a file with records of version 1, as sources to import.

    ``left_out`` names the files with other JSON, ``problems`` says which records are wrong.
    """

    def __init__(self, path: Path, store: Store, host: str) -> None:
        self.left_out: list[str] = []
        self.problems: list[str] = []
        self._top = path if path.is_dir() else path.parent
        self._store, self._host = store, host
        self._records: dict[str, FirstRecords] = {}
        self._payloads: dict[str, Path] = {}
        self._refs: set[str] = set()
        for file in _files(path):
            name = file.relative_to(self._top).as_posix()
            for key in (name, file.name, file.name.split(".")[0]):
                self._payloads.setdefault(key, file)
            if file.name.endswith(FIRST_RECORDS):
                self._read_file(file, name)
        bodies = set(filter(None, map(self._payload_file, self._refs)))
        self.left_out = [name for name in self.left_out if self._top / name not in bodies]
        self._with_session = sorted(uid for uid, one in self._records.items() if one.session)
        self._note_orphans()
        if not self._with_session:
            raise SessionMemoryError(
                f"{path} cannot be imported: it has no session of schema version 1",
                "Name a file that session-memory export wrote, or the first collector's directory.",
            )
        self.count, self.bytes = len(self._with_session), 0

    def sources(self) -> Iterator[ImportedSource]:
        """One source for each session, with its events, digests and payloads."""
        known = {row.path: row for row in self._store.sources.every()}
        for uid in self._with_session:
            body = b"".join(self._lines(uid))
            row = self._row(uid, body, known)
            is_known = _has_own_logs(self._store, uid, row)
            yield ImportedSource(row, io.BytesIO(body), is_known=is_known)

    # ------------------------------------------------------------ reading files

    def _read_file(self, file: Path, name: str) -> None:
        found = False
        try:
            values = list(_values(file))
        except (OSError, EOFError) as error:
            self.problems.append(f"{name}: {error.args[-1] if error.args else error}")
            return
        for value in values:
            for one in value if isinstance(value, list) else (value,):
                found |= self._add(one, name)
        if not found:
            self.left_out.append(name)
        elif broken := [number for number, value in enumerate(values, 1) if value is None]:
            more = f" and {len(broken) - 1:,} more" if len(broken) > 1 else ""
            self.problems.append(f"{name}: line {broken[0]:,}{more}: not JSON")

    def _add(self, value: Any, name: str) -> bool:
        """Keep ``value`` if it is a record, else the records in it. False if there are none."""
        match value:
            case {"session": dict(session), "events": [*events]}:
                return sum(self._add(one, name) for one in (session, *events)) > 0
            case {"session_uid": str(uid), "native_session_id": str()}:
                return self._add_session(uid, value, name)
            case {"session_uid": str(uid), "seq": int(seq)}:
                return self._add_event(uid, seq, value, name)
            case {"session_uid": str(uid), **fields} if _DIGEST_FIELDS.intersection(fields):
                self._of(uid).digests.append(value)
                return True
        return False

    def _add_session(self, uid: str, value: dict[str, Any], name: str) -> bool:
        try:
            Session.from_dict(value)
        except InvalidRecord as error:
            self.problems.append(f"{name}: {error}")
        else:
            self._of(uid).session = value
        return True

    def _add_event(self, uid: str, seq: int, value: dict[str, Any], name: str) -> bool:
        try:
            SessionEvent.from_dict(value)
        except InvalidRecord as error:
            self.problems.append(f"{name}: event {seq}: {error}")
        else:
            if isinstance(ref := value.get("payload_ref"), str):
                self._refs.add(ref)
            self._of(uid).events[seq] = json.dumps(value, ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            )
        return True

    def _of(self, uid: str) -> FirstRecords:
        return self._records.setdefault(uid, FirstRecords(events={}, digests=[]))

    def _note_orphans(self) -> None:
        for uid, one in sorted(self._records.items()):
            if one.session is None and one.events:
                self.problems.append(f"{len(one.events):,} events of {uid}, which has no session")

    # ------------------------------------------------------------ writing lines

    def _lines(self, uid: str) -> Iterator[bytes]:
        records = self._records[uid]
        session = records.session or {}
        calls = _Calls()
        for _, data in sorted(records.events.items()):
            event = json.loads(data)
            line: dict[str, Any] = {"line": EVENT, "record": event}
            if call_id := calls.id_of(event):
                line["call_id"] = call_id
            if event.get("kind") == "assistant_msg" and session.get("model"):
                line["model"] = session["model"]
            if (payload := self._payload(event.get("payload_ref"))) is not None:
                line["payload"] = payload
            yield _line(line)
        for digest in records.digests:
            yield _line({"line": DIGEST, "record": digest})
        yield _line({"line": SESSION, "record": session})

    def _payload_file(self, ref: str) -> Path | None:
        names = (ref, ref.rpartition("/")[2], ref.rpartition(":")[2], ref.rpartition("#")[0])
        return next((self._payloads[name] for name in names if name in self._payloads), None)

    def _payload(self, ref: Any) -> Any:
        """Return the body of an event: JSON, else text. None if there is no such file."""
        if not isinstance(ref, str) or not ref:
            return None
        if (file := self._payload_file(ref)) is None:
            return None
        try:
            text = _contents(file, LARGEST_PAYLOAD).decode("utf-8", "backslashreplace")
        except (OSError, EOFError):
            self.problems.append(f"{file.name}: the body of an event cannot be read")
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text

    def _row(self, uid: str, body: bytes, known: dict[str, SourceRow]) -> SourceRow:
        flavor, _, native = uid.partition(":")
        path = f"{FIRST_PLACE}{flavor}/{native}{ENDING}"
        row = SourceRow(
            host=self._host,
            flavor=flavor,
            role=LOG,
            path=path,
            home_path=f"{HOME_PLACE}/{flavor}/{native}{ENDING}",
            session=native,
            kept=len(body),
            inode=NO_INODE,
        )
        if (before := known.get(path)) is not None:
            # If the session changed since the last import, its source counts as rewritten.
            row.host = before.host
            stored = b"".join(self._store.raw.pieces(before.id))
            row.generation = before.generation + (stored != body)
        row.uid = source_uid(row.host, path, row.generation)
        return row


class _Calls:
    """Gives a call and its result the same id. Records of schema version 1 have no ids of calls.

    A result belongs to the call that is its parent. Without such a call, it belongs to the oldest
    open call of its tool, or of any tool if the result names none.
    """

    def __init__(self) -> None:
        self._open: dict[int, str] = {}

    def id_of(self, event: dict[str, Any]) -> str | None:
        kind, tool, seq = event.get("kind"), event.get("tool") or "", event["seq"]
        if kind in CALLS and tool:
            self._open[seq] = tool
            return f"schema-v1-{seq}"
        if kind not in RESULTS or not (tool or event.get("role") == "tool"):
            return None
        call = event.get("parent_seq")
        if call not in self._open:
            call = next((at for at, name in self._open.items() if tool in ("", name)), None)
        if call is None:
            return None
        del self._open[call]
        return f"schema-v1-{call}"


def _has_own_logs(store: Store, uid: str, row: SourceRow) -> bool:
    """Whether the store has other logs of the session, which say more than records of version 1."""
    session = store.sessions.row(uid)
    sources = () if session is None else store.sources.read_by(session.id)
    return any(one.path != row.path for one in sources)


def _files(path: Path) -> Iterator[Path]:
    """Every regular file, in the order of names. Links are left out."""
    if not path.is_dir():
        yield path
        return
    number = 0
    for directory, below, names in os.walk(path):
        below.sort()
        for name in sorted(names):
            file = Path(directory, name)
            if _is_regular(file):
                number += 1
                if number > MOST_FILES:
                    raise SessionMemoryError(
                        f"{path} has more than {MOST_FILES:,} files", "Import it in parts."
                    )
                yield file


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        # The file was deleted after its directory was listed.
        return False


def _values(file: Path) -> Iterator[Any]:
    """Yield the JSON values in a file: one, or one on each line. A wrong line gives None."""
    data = _contents(file, LARGEST_FILE)
    try:
        yield json.loads(data)
        return
    except (ValueError, RecursionError):
        lines = data.splitlines()
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            yield None


def _contents(file: Path, most: int) -> bytes:
    if file.lstat().st_size > most:
        raise OSError(f"it has more than {most:,} bytes")
    with file.open("rb") as plain:
        if file.suffix != ".gz":
            return plain.read(most)
        with gzip.open(plain) as unpacked:
            return unpacked.read(most)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace") + b"\n"
