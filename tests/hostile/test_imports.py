"""Portable files that somebody forged: they change nothing that this machine reads itself.

Every field of a source gets every odd value. The forged sources name the local logs, with their
size, times and inode, as if this machine had read something else there.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.native import tail_hash
from session_memory.collect.sync import sync, sync_paths
from session_memory.collect.sync_report import ReadProgress, SyncOutcome
from session_memory.config import Config
from session_memory.core.errors import SessionMemoryError
from session_memory.core.time import now_ms
from session_memory.retain.native_files import DamagedLog, restore_native
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.store.fingerprint import session_parts
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.collecting import check_same, check_sound, new_store
from session_memory.testing.portable import Described, write_portable

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

HERE = Config(host="here")
NAMES: tuple[Any, ...] = (
    "",
    "a\0b",
    "a\nb",
    "\x1b[31mred",
    "\u202egnp.exe",
    "../../outside",
    "/etc/passwd",
    "x" * 5000,
    "live",
    "claude",
    "codex",
    "No; drop table sources",
    "document",
    "table",
    "timeline",
    "spill",
)
NUMBERS: tuple[Any, ...] = (-1, 0, 1, 7, 2**62, -(2**62))
WRONG: dict[type, tuple[Any, ...]] = {
    str: (7, None, ["a"], "\ud800"),
    int: (2**64, 2**63, -(2**63), 1.5, "1", {}),
}
IGNORED = ("cursor_state", "tail_hash", "bookkeeping")
SOURCE_FIELDS = ("host", "source_path", "source_bytes")
FIXED = ("id", "uid", "kept", "read_to")
FIELDS = [name for name in SourceRow.__struct_fields__ if name not in FIXED]


def is_text(name: str) -> bool:
    return SourceRow.__annotations__[name] is str


def cases() -> Iterator[dict[str, Any]]:
    yield {}
    yield {"superseded": 1, "vanished": 1}
    yield {"superseded": 1, "generation": 3}
    for name in FIELDS:
        values = NAMES[: 3 if name in IGNORED else None] if is_text(name) else NUMBERS
        yield from ({name: value} for value in values)


def collect(store: Store, home: Path) -> SyncOutcome:
    return sync(store, HERE, roots(HERE, (home,)))


def forged(log: Path, session: str, changed: dict[str, Any], body: bytes) -> Described:
    """A source that claims to be what this machine has read of a log."""
    stat, local = log.stat(), log.read_bytes()
    fields = {
        "host": "here",
        "flavor": "claude",
        "role": "log",
        "path": str(log),
        "home_path": f".claude/projects/p/{log.name}",
        "session": session,
        "adapter_version": 1,
        "read_to": 0,
        "kept": len(body),
        "tail_hash": tail_hash(local),
        "size": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "ctime_ns": stat.st_ctime_ns,
        "inode": stat.st_ino,
        "ingested_at": 1,
    }
    return {**fields, **changed}, body


def line(session: str, text: str) -> bytes:
    record = {
        "type": "user",
        "uuid": f"{session}-{text}",
        "parentUuid": None,
        "sessionId": session,
        "timestamp": "1999-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": text},
        "customTitle": text,
        "description": text,
        "agentType": text,
    }
    return json.dumps(record).encode() + b"\n"


def local_part(store: Store, home: Path) -> list[str]:
    """What the store says about the files of this machine and their sessions."""
    found: list[Any] = []
    for path, row in sorted(store.sources.known("here").items()):
        if Path(path).is_relative_to(home) and Path(path).exists():
            raw = b"".join(store.raw.pieces(row.id)).decode()
            found.append([path, row.flavor, row.role, row.session, row.kept, row.lines, raw])
    for uid in store.sessions.uids():
        if re.fullmatch(r"claude:local-\d+", uid):
            found += map(without_sources, session_parts(store, uid))
    # The reference to a body names the generation of its file.
    texts = [json.dumps(part, sort_keys=True) for part in found]
    return [re.sub(r'"payload_ref": "\w+@', '"payload_ref": "@', text) for text in texts]


def without_sources(part: list[Any]) -> list[Any]:
    """The part of a fingerprint without the names of machines and files, which may be more."""
    if part[0] == "session":
        return [{name: part[1][name] for name in part[1] if name not in SOURCE_FIELDS}]
    return part


Forge = Callable[[bytes, str], bytes]
FORGERIES: dict[str, Forge] = {
    "something else": lambda local, session: line(f"evil-{session}", "something else"),
    "more": lambda local, session: local + line(f"evil-{session}", "more"),
    "less": lambda local, session: local[: local.find(b"\n") + 1],
    "nothing": lambda local, session: b"",
}


class Machine:
    """Logs of this machine, one for each case."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.claude = ClaudeHome(self.home)
        self.directory = directory

    def log(self, number: int) -> tuple[Path, str]:
        session = f"local-{number}"
        log = self.claude.session(session)
        log.prompt(f"ask {number}")
        log.answer(f"answer {number}", used=usage(number + 1))
        return self.home / log.place, session


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("order", ["import first", "sync first"])
def test_no_field_of_an_import_changes_what_this_machine_reads(
    machine: Machine, database: str, on_the_database: None, forgery: str, order: str
) -> None:
    # Every value is tried with one of the forgeries; on the slower database a part of them.
    step = len(FORGERIES) * (1 if database == "sqlite" else 8)
    tried = list(cases())[list(FORGERIES).index(forgery) :: step]
    places = [machine.log(number) for number in range(len(tried))]
    machine.claude.write()
    sources = [
        forged(log, session, changed, FORGERIES[forgery](log.read_bytes(), session))
        for (log, session), changed in zip(places, tried, strict=True)
    ]
    file = write_portable(machine.directory / "forged.smx", sources)
    with new_store() as alone, new_store() as store:
        collect(alone, machine.home)
        if order == "sync first":
            collect(store, machine.home)
        done = import_store(store, file, HERE)
        assert done.sources == len(sources)
        assert done.refused
        collect(store, machine.home)
        check_same(local_part(alone, machine.home), local_part(store, machine.home))
        assert collect(store, machine.home).report.ingested == 0
        # The logs go on.
        for log, session in places:
            with log.open("ab") as growing:
                growing.write(line(session, "and more"))
        collect(alone, machine.home)
        collect(store, machine.home)
        check_same(local_part(alone, machine.home), local_part(store, machine.home))
        check_sound(store)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("name", [*FIELDS, "read_to", "kept", "id"])
def test_a_value_of_a_wrong_type_refuses_the_file(machine: Machine, name: str) -> None:
    log, session = machine.log(0)
    machine.claude.write()
    values = WRONG[str if is_text(name) else int]
    if name in ("starts_at", "ingested_at", "redacted_from"):
        values = tuple(value for value in values if value is not None)
    with new_store() as store:
        for value in values:
            described = forged(log, session, {name: value}, b"")
            file = write_portable(machine.directory / "wrong.smx", [described])
            with pytest.raises(SessionMemoryError) as error:
                import_store(store, file, HERE)
            assert error.value.hint
        assert store.sources.is_empty()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"host": "a\0b"}, "control"),
        ({"host": ""}, "0 characters"),
        ({"host": "h" * 300}, "300 characters"),
        ({"flavor": "live"}, "live sessions"),
        ({"flavor": "live", "host": "", "role": "table"}, "0 characters"),
        ({"flavor": "Claude"}, "not a name"),
        ({"role": "table"}, "role"),
        ({"path": "relative.jsonl"}, "absolute"),
        ({"path": "/a\nb"}, "control"),
        ({"home_path": "../outside.jsonl"}, "home directory"),
        ({"home_path": "/etc/outside.jsonl"}, "home directory"),
        ({"generation": -1}, "generation"),
        ({"generation": 2**40}, "generation"),
        ({"redacted_from": 10**6}, "masked"),
    ],
)
def test_a_source_with_an_impossible_value_is_refused_and_the_others_are_imported(
    machine: Machine, on_the_database: None, changed: dict[str, Any], reason: str
) -> None:
    log, session = machine.log(0)
    machine.claude.write()
    good = forged(log, session, {"host": "there", "discovered_at": 2**62}, line("good", "hello"))
    bad = forged(log, session, changed, line("bad", "hello"))
    file = write_portable(machine.directory / "mixed.smx", [bad, good])
    with new_store() as store:
        done = import_store(store, file, HERE)
        assert (done.sources, done.refused, done.known, done.sessions) == (2, 1, 0, 1)
        assert reason in done.problems[0]
        assert store.sessions.uids() == ["claude:good"]
        (row,) = store.sources.every()
        assert row.discovered_at <= now_ms()
        check_sound(store)


# ---------------------------------------------------------------- bombs


def bomb(target: Path, body: bytes, count: int = 1) -> Path:
    fields = {"host": "there", "flavor": "claude", "role": "log", "home_path": "x.jsonl"}
    sources = [({**fields, "path": f"/{n}.jsonl", "kept": len(body)}, body) for n in range(count)]
    return write_portable(target, sources)


BOMBS = {
    "lines": (b"{}\n" * 200_000, 1),
    "empty lines": (b"\n" * 200_000, 1),
    "bytes": (bytes(64 * 1024**2), 1),
    "sources": (b"", 5000),
}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_that_unpacks_to_very_much_is_refused(tmp_path: Path, kind: str) -> None:
    body, count = BOMBS[kind]
    file = bomb(tmp_path / "bomb.smx", body, count)
    assert file.stat().st_size < 200_000
    with new_store() as store:
        with pytest.raises(SessionMemoryError, match="too many for its size") as error:
            import_store(store, file, HERE)
        assert "--no-limits" in str(error.value.hint)
        assert store.sources.is_empty()


@pytest.mark.only("sqlite")
@pytest.mark.only("sqlite")
@pytest.mark.parametrize("name", ["pipe.smx", "pipe.json"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with new_store() as store, pytest.raises(SessionMemoryError, match="device or a pipe"):
        import_store(store, tmp_path / name, Config())


def test_the_limit_can_be_lifted(tmp_path: Path) -> None:
    file = bomb(tmp_path / "many.smx", b"\n" * 30_000)
    with new_store() as store:
        with pytest.raises(SessionMemoryError):
            import_store(store, file, HERE)
        assert import_store(store, file, HERE, is_limited=False).bytes == 30_000


@pytest.mark.only("sqlite")
def test_a_description_that_is_nested_deeply_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "deep.smx"
    fields = {"host": "there", "flavor": "claude", "role": "log", "path": "/a", "home_path": ""}
    extra = b"[" * 100_000 + b"]" * 100_000
    file = write_portable(target, [({**fields, "kept": 0}, b"")], extra)
    with new_store() as store, pytest.raises(SessionMemoryError, match="cannot be imported"):
        import_store(store, file, HERE)


# ---------------------------------------------------------------- killed, repeated, continued


class Killed(BaseException):
    """Not caught by anybody, like a signal."""


class Killing(ReadProgress):
    """Ends the process, as it were, after some bytes."""

    def __init__(self, after: int) -> None:
        self._left = after

    def advance(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise Killed


def test_an_import_that_was_killed_goes_on_where_it_stopped(
    machine: Machine, on_the_database: None
) -> None:
    for number in range(6):
        machine.log(number)
    machine.claude.write()
    with new_store() as origin, new_store() as store:
        collect(origin, machine.home)
        file = machine.directory / "all.smx"
        export_store(origin, file)
        for after in range(0, 8000, 1000):
            with contextlib.suppress(Killed):
                import_store(store, file, HERE, progress=Killing(after))
        done = import_store(store, file, HERE)
        assert done.refused == 0
        assert store.fingerprint() == origin.fingerprint()
        check_sound(store)
        assert import_store(store, file, HERE).known == done.sources
        # The logs are this machine's. The first sync compares them; nothing is read twice.
        assert collect(store, machine.home).report.events == 0
        assert store.fingerprint() == origin.fingerprint()
        assert not [row for row in store.sources.every() if row.is_imported]


def test_a_long_source_is_written_in_parts_and_goes_on_where_it_was_killed(
    tmp_path: Path, on_the_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.collect.file_pieces.SEGMENT", 4096)
    monkeypatch.setattr("session_memory.collect.batches.BATCH_BYTES", 4096)
    body = b"".join(line("long", f"text {number}") for number in range(100))
    file = bomb(tmp_path / "long.smx", body)
    with new_store() as store, new_store() as whole:
        with pytest.raises(Killed):
            import_store(store, file, HERE, progress=Killing(len(body) // 2))
        (row,) = store.sources.every()
        assert 0 < row.kept < len(body)
        check_sound(store)
        import_store(store, file, HERE)
        import_store(whole, file, HERE)
        assert store.fingerprint() == whole.fingerprint()
        check_sound(store)


def test_a_log_that_is_gone_here_can_be_continued_by_an_import(
    machine: Machine, on_the_database: None
) -> None:
    """A backup of this machine has more of a log than this store, and its file is deleted."""
    log, session = machine.log(0)
    machine.claude.write()
    with new_store() as origin, new_store() as store:
        collect(store, machine.home)
        with log.open("ab") as growing:
            growing.write(line(session, "more"))
        collect(origin, machine.home)
        export_store(origin, machine.directory / "all.smx")
        known = import_store(store, machine.directory / "all.smx", HERE)
        assert (known.known, known.bytes) == (1, 0)
        log.unlink()
        done = import_store(store, machine.directory / "all.smx", HERE)
        assert (done.known, done.refused) == (0, 0)
        assert store.fingerprint() == origin.fingerprint()
        check_sound(store)


@pytest.mark.parametrize("generation", [1, 7])
def test_the_only_copy_of_a_log_is_not_replaced_by_an_import(
    machine: Machine, on_the_database: None, generation: int
) -> None:
    """The agent deleted its file. A newer generation would be what ``restore-native`` writes."""
    log, session = machine.log(0)
    machine.claude.write()
    body, changed = line("evil", "theirs"), {"generation": generation}
    file = write_portable(machine.directory / "a.smx", [forged(log, session, changed, body)])
    kept = log.read_bytes()
    with new_store() as store:
        collect(store, machine.home)
        before = store.fingerprint()
        log.unlink()
        assert import_store(store, file, HERE).refused == 1
        assert store.fingerprint() == before
        (restored,) = restore_native(store, None, machine.directory / "back")
        assert restored.path.read_bytes() == kept


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("place", ["the same", ""])
def test_an_import_does_not_keep_a_log_from_being_restored(machine: Machine, place: str) -> None:
    log, session = machine.log(0)
    machine.claude.write()
    target = machine.directory / "back"
    with new_store() as store:
        collect(store, machine.home)
        (row,) = store.sources.every()
        changed = {"path": "/elsewhere/x.jsonl", "home_path": row.home_path if place else ""}
        body = line(session, "theirs")
        file = write_portable(machine.directory / "a.smx", [forged(log, session, changed, body)])
        assert import_store(store, file, HERE).refused == 0
        for uids in (None, [f"claude:{session}"]):
            left_out: list[DamagedLog] = []
            found = restore_native(store, uids, target / str(uids), damaged=left_out)
            assert [file.path.read_bytes() for file in found] == [log.read_bytes()]
            assert [one.path for one in left_out] == ["/elsewhere/x.jsonl"]
            assert "imported" in left_out[0].reason


def test_a_watch_leaves_imported_logs_to_a_look_at_their_directory(
    machine: Machine, on_the_database: None
) -> None:
    """The role and session of such a row are not this machine's words."""
    log, session = machine.log(0)
    machine.claude.write()
    file = write_portable(machine.directory / "a.smx", [forged(log, session, {}, line("x", "y"))])
    with new_store() as store:
        import_store(store, file, HERE)
        where = roots(HERE, (machine.home,))
        assert sync_paths(store, HERE, where, [log])[1] == [log]
        collect(store, machine.home)
        with log.open("ab") as growing:
            growing.write(line(session, "more"))
        outcome, unexplained = sync_paths(store, HERE, where, [log])
        assert (outcome.report.events, unexplained) == (1, [])


def test_a_log_that_an_earlier_import_silenced_is_read_again(
    machine: Machine, on_the_database: None
) -> None:
    """Until this release an import could store a row that no sync looked at again."""
    log, session = machine.log(0)
    machine.claude.write()
    with new_store() as store, new_store() as alone:
        fields = {"host": "here", "flavor": "claude", "role": "log", "home_path": "x.jsonl"}
        row = SourceRow(**fields, path=str(log), superseded=1, inode=7, ingested_at=1)
        with store.transaction():
            store.sources.save(row)
        collect(store, machine.home)
        collect(alone, machine.home)
        check_same(local_part(alone, machine.home), local_part(store, machine.home))
        assert collect(store, machine.home).report.ingested == 0


def test_a_document_of_an_import_does_not_rename_a_local_session(
    machine: Machine, on_the_database: None
) -> None:
    log = machine.claude.session("local-0")
    log.prompt("hello")
    agent = machine.claude.subagent(log, "a1", meta={"description": "ours"})
    agent.answer("done")
    machine.claude.write()
    (meta,) = machine.home.rglob("*.meta.json")
    for generation in (0, 5):
        fields = {"role": "document", "agent": "a1", "generation": generation}
        body = json.dumps({"description": "theirs", "agentType": "theirs"}).encode()
        described = forged(meta, "local-0", fields, body)
        file = write_portable(machine.directory / "title.smx", [described])
        for order in (("import", "sync"), ("sync", "import", "sync")):
            with new_store() as store:
                for step in order:
                    if step == "import":
                        import_store(store, file, HERE)
                    else:
                        collect(store, machine.home)
                session = store.sessions.get("claude:local-0:a1")
                assert session is not None
                assert session.title == "ours"
