"""Sessions of mycode and power-loop as histories that a live session can take over.

Read from what was collected, or from where the runtime keeps them; nothing is written there.
"""

import io
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from session_memory.adapters import jsonl
from session_memory.adapters.base import SourceRef
from session_memory.adapters.conversation import text_of
from session_memory.adapters.mycode.layout import LOG_NAME, META_NAME
from session_memory.adapters.mycode.visible import Visible
from session_memory.adapters.registry import agent
from session_memory.collect.native import copied_database, dump_of, opened
from session_memory.core.errors import AmbiguousSession, SourceUnreadable, UnknownSession
from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep, RewindStep
from session_memory.core.ids import split_uid
from session_memory.core.roles import DOCUMENT, LOG
from session_memory.core.text import escaped
from session_memory.store.store import Store

MYCODE, POWER_LOOP = "mycode", "power_loop"
STRUCTURED = ("content_encoding", "json")
_NOTE = "compact_note"
_OUT = "compacted_out"


def collected_history(store: Store, uid: str) -> History:
    """The history of a session that was collected, out of its raw."""
    row = store.sessions.row(uid)
    if row is None:
        raise UnknownSession(uid)
    flavor, native = split_uid(uid)
    sources = [source for source in store.sources.read_by(row.id) if not source.superseded]
    lines = {role: [s for s in sources if s.role == role] for role in (LOG, DOCUMENT)}
    raw = [_objects(store.raw.open(source.id)) for source in lines[LOG]]
    log = (told for objects in raw for told in objects)
    about = (store.raw.open(source.id).read() for source in lines[DOCUMENT])
    if flavor == MYCODE:
        return _mycode(uid, native, log, next(about, b""))
    if flavor == POWER_LOOP:
        name = row.native_name or native
        documents = (told for body in about for told in _objects(io.BytesIO(body)))
        return _power_loop(uid, native, _of(name, log), _of(name, documents))
    raise SourceUnreadable(uid, f"{flavor} keeps no sessions that could go on here")


def history_at(path: Path, session: str | None = None) -> History:
    """The history of a session where its runtime keeps it: a directory, a log or a database."""
    log = path / LOG_NAME if path.is_dir() else path
    if log.name == LOG_NAME and log.is_file():
        meta = log.with_name(META_NAME)
        about = meta.read_bytes() if meta.is_file() else b""
        native = log.parent.name
        with opened(log) as file:
            return _mycode(f"{MYCODE}:{native}", native, _objects(file), about)
    return _in_database(path, session)


def _in_database(path: Path, session: str | None) -> History:
    dump = dump_of(POWER_LOOP)
    refs = list(agent(POWER_LOOP).discover(path))
    if dump is None or len(refs) != 1 or not isinstance(refs[0], SourceRef):
        raise SourceUnreadable(str(path), "neither a session of mycode nor power-loop's database")
    with tempfile.TemporaryDirectory(prefix="session-memory-") as directory:
        copy = copied_database(refs[0].place, Path(directory))
        parts = (refs[0], *refs[0].companions)
        rows = {part.role: [] for part in parts}  # type: dict[str, list[dict[str, Any]]]
        for part in parts:
            rows[part.role] += _objects(io.BytesIO(b"".join(dump(copy, part))))
    names = [row["session_id"] for row in rows[DOCUMENT] if row.get("table") == "sessions"]
    if session is None and len(names) != 1:
        some = ", ".join(map(escaped, names[:5]))
        message = f"{path.name} holds {len(names)} sessions"
        raise AmbiguousSession(message, f"Name the one you mean with --session: {some}")
    name = session or names[0]
    if name not in names:
        raise UnknownSession(name, near=[])
    return _power_loop(
        f"{POWER_LOOP}:{name}", name, _of(name, rows[LOG]), _of(name, rows[DOCUMENT])
    )


def _objects(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Every line that is an object; the runtimes pass over what is none, as we do."""
    with stream:
        for _, _, line in jsonl.lines(stream, 0):
            if line is None or line.isspace():
                continue
            try:
                told = jsonl.decode_anything(line)
            except ValueError:
                continue
            if isinstance(told, dict):
                yield told


def _of(session: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row.get("session_id") == session]


# ---------------------------------------------------------------- mycode


def _mycode(uid: str, native: str, log: Iterable[dict[str, Any]], about: bytes) -> History:
    try:
        meta = jsonl.decode_anything(about) if about else {}
    except ValueError:
        meta = {}
    told = meta if isinstance(meta, dict) else {}
    names = ("title", "cwd", "model", "provider", "api_base")
    known = {name: told[name] for name in names if isinstance(told.get(name), str)}
    replay = _Replay()
    for record in log:
        replay.add(record)
    return History(uid, native, replay.steps, known)


class _Replay:
    """What mycode would show, line by line, with what each line does to it."""

    def __init__(self) -> None:
        self.steps: list[HistoryStep] = []
        self._visible = Visible()
        self._folds: list[int] = []

    def add(self, record: dict[str, Any]) -> None:
        number = self._visible.lines
        self._visible.lines += 1
        meta = record.get("meta")
        told = meta if isinstance(meta, dict) else {}
        match record.get("role"):
            case "rewind":
                self._rewind(told.get("rewind_to", 0))
            case "compact":
                self.steps.append(FoldStep(number, text_of(record.get("content"))))
                self._folds.append(number)
                if "compacted_count" in told:
                    self._visible.runs = [(number, number)] * 2
                else:
                    self._visible.add(number)
            case str(role):
                message = {"role": role, "content": record.get("content"), "meta": told}
                self.steps.append(MessageStep(number, message))
                self._visible.add(number)

    def _rewind(self, to: Any) -> None:
        if isinstance(to, bool) or not isinstance(to, int):
            return
        self._visible.cut(to)
        shown = self._visible.runs
        gone = [n for n in self._folds if not any(a <= n <= b for a, b in shown)]
        self._folds = [number for number in self._folds if number not in gone]
        self.steps.append(RewindStep(self._visible.last, tuple(gone)))


# ---------------------------------------------------------------- power-loop


def _power_loop(
    uid: str, native: str, log: list[dict[str, Any]], about: list[dict[str, Any]]
) -> History:
    session = next((row for row in about if row.get("table") == "sessions"), {})
    out = {state: _seqs(runs) for state, runs in session.get("out", {}).items()}
    metadata = _decoded(session.get("metadata_json"))
    known: dict[str, Any] = {
        name: session[name] for name in ("system_prompt", "model") if session.get(name)
    }
    known["metadata"] = metadata if isinstance(metadata, dict) else {}
    notes = {row["seq"]: row for row in log if _is_note(row)}
    dropped = set().union(*(seqs for state, seqs in out.items() if state != _OUT))
    steps: list[HistoryStep] = []
    for row in log:
        match row.get("table"):
            case "messages" if row["seq"] not in notes and row["seq"] not in dropped:
                steps.append(MessageStep(row["seq"], _message(row)))
            case "compactions":
                steps.append(_compaction(row, notes, out.get(_OUT, set())))
    left_out = {state: len(seqs) for state, seqs in out.items() if state != _OUT}
    return History(uid, native, steps, known, left_out)


def _is_note(row: dict[str, Any]) -> bool:
    return row.get("table") == "messages" and row.get("name") == _NOTE


def _message(row: dict[str, Any]) -> dict[str, Any]:
    meta = _decoded(row.get("meta_json"))
    told = dict(meta) if isinstance(meta, dict) else {}
    content = row.get("content")
    if told.get(STRUCTURED[0]) == STRUCTURED[1]:
        del told[STRUCTURED[0]]
        content = _decoded(content)
    told["created_at"] = row.get("created_at")
    message = {name: row.get(name) for name in ("role", "tool_call_id", "name", "round_index")}
    calls = _decoded(row.get("tool_calls_json"))
    return {**message, "content": content, "tool_calls": calls or None, "meta": told}


def _compaction(row: dict[str, Any], notes: dict[int, dict[str, Any]], out: set[int]) -> FoldStep:
    """Exactly those between its ends that it took out of sight."""
    first, last, note = row.get("from_seq", 0), row.get("to_seq", 0), row.get("note_seq", 0)
    members = tuple(seq for seq in sorted(out) if first <= seq <= last and seq < note)
    text = str(notes.get(note, {}).get("content") or "")
    return FoldStep(note, text, members, row.get("before_tokens"), row.get("after_tokens"))


def _seqs(runs: Any) -> set[int]:
    return {seq for first, last in runs for seq in range(first, last + 1)}


def _decoded(text: Any) -> Any:
    if not isinstance(text, str) or not text:
        return None
    try:
        return jsonl.decode_anything(text.encode())
    except ValueError:
        return None
