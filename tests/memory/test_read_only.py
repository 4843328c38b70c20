"""A store that may only be read: every question is answered, and a change says what it needs.

On SQLite the file and its directory have no write permission. Root ignores that, so there the test
runs in a process that gave up the rights of root. On PostgreSQL a role may only select.
"""

import ctypes
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from session_memory import Memory, StoredSession
from session_memory.cli import main
from session_memory.core.errors import SessionMemoryError, StoreError
from session_memory.store.migrations import NEWEST
from session_memory.store.postgres import Postgres
from session_memory.testing.stores import Stores


class ReadOnly:
    """Runs a function with the place of a store that it may only read."""

    def __init__(self, place: str, *, is_file: bool = False) -> None:
        self.place = place
        self._is_file = is_file

    def ask(self, function: Callable[[str], Any]) -> Any:
        """The answer, which must be JSON. Failed assertions come back as a text."""
        if not self._is_file or os.getuid() != 0:
            return function(self.place)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w") as out:
                out.write(json.dumps(self._answer(function)))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        done, value = json.loads(text)
        assert done, value
        return value

    def _answer(self, function: Callable[[str], Any]) -> tuple[bool, Any]:
        try:
            give_up_rights()
            return True, function(self.place)
        except BaseException:
            return False, traceback.format_exc()


def give_up_rights() -> None:
    """Drop all capabilities: permissions of files then bind root like any other owner."""
    version, everything = 0x20080522, (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(version, 0)
    assert ctypes.CDLL(None).capset(header, everything) == 0


@pytest.fixture
def read_only(filled: str, database: str, request: pytest.FixtureRequest) -> Iterator[ReadOnly]:
    place = filled
    with Memory(place) as memory:
        # A copy on a server has no index yet, and a reader cannot make it.
        memory.search("test")
    if database == "postgresql":
        yield from _as_reader(place, request.getfixturevalue("server_url"))
        return
    if os.getuid() == 0 and sys.platform != "linux":
        pytest.skip("root may write everything")
    file = Path(place)
    file.chmod(0o444)
    file.parent.chmod(0o555)
    yield ReadOnly(place, is_file=True)
    file.parent.chmod(0o755)


def _as_reader(place: str, server_url: str) -> Iterator[ReadOnly]:
    admin = Postgres(server_url)
    # Workers share the server, and a role belongs to the whole of it.
    schema = place.rpartition("%3D")[2]
    reader = f"reader_of_{schema}"
    admin.execute(f"create role {reader} login password 'reads'")
    admin.execute(f"grant usage on schema {schema} to {reader}")
    admin.execute(f"grant select on all tables in schema {schema} to {reader}")
    at = urlsplit(server_url)
    address = f"postgresql://{reader}:reads@{at.hostname}:{at.port}{at.path}"
    yield ReadOnly(f"{address}?options=-csearch_path%3D{schema}")
    admin.execute(f"revoke all on all tables in schema {schema} from {reader}")
    admin.execute(f"revoke all on schema {schema} from {reader}")
    admin.execute(f"drop role {reader}")
    admin.close()


def answers_of(memory: Memory) -> dict[str, Any]:
    parent = next(one for one in memory.sessions() if one.children)
    return {
        "sessions": memory.sessions().to_dict()["sessions"],
        "titled": memory.sessions(title="harbour").count(),
        "search": memory.search("test").to_dict()["total"],
        "similar": len(memory.similar(parent.uid).to_dict()),
        "fix": memory.fix("error").to_dict(),
        "how": memory.how("tests").to_dict(),
        "cost": memory.cost().to_dict()["totals"],
        "prices": len(memory.prices().to_dict()),
        "budget": memory.budget().state,
        "files": len(memory.files().files),
        "commands": len(memory.commands().commands),
        "patterns": memory.patterns().total,
        "retro": bool(memory.retro(since="2020-01")),
        "lessons": memory.lessons().to_dict(),
        "skills": memory.skills().to_dict(),
        "sources": memory.sources().total,
        "problems": memory.problems().total,
        "verify": memory.verify().findings,
        "session": answers_of_session(parent),
        "live": memory.live.list_sessions(),
        "stats": sorted(memory.stats().to_dict()),
        "dry_run": len(memory.retain(dry_run=True).outcome.gone),
    }


def answers_of_session(session: StoredSession) -> dict[str, Any]:
    return {
        "title": session.title,
        "events": len(list(session.events)),
        "texts": sum(len(session.text(event)) for event in session.events),
        "transcript": len(list(session.transcript())),
        "cost": session.cost_with_subagents.microdollars,
        "digest": session.digest().is_stored,
        "timeline": bool(session.timeline().to_dict()),
        "diff": len(session.diff().files),
        "family": bool(session.family().to_dict()),
        "audit": bool(session.audit().to_dict()),
        "view": len(session.to_dict()["events"]),
    }


def test_a_memory_answers_everything(read_only: ReadOnly, stores: Stores) -> None:
    def ask(place: str) -> Any:
        with Memory(place, create=False) as memory:
            return json.loads(json.dumps(answers_of(memory), default=str))

    with Memory(stores.place("memory")) as owner:
        expected = json.loads(json.dumps(answers_of(owner), default=str))
    assert read_only.ask(ask) == expected


def test_without_a_complete_index_the_old_one_is_asked(
    read_only: ReadOnly, stores: Stores, database: str
) -> None:
    if database == "sqlite":
        Path(read_only.place).parent.chmod(0o755)
        Path(read_only.place).chmod(0o644)
    with Memory(stores.place("memory")) as owner, owner.store.transaction():
        owner.store.index.declare(complete=False)
    if database == "sqlite":
        Path(read_only.place).chmod(0o444)
        Path(read_only.place).parent.chmod(0o555)

    def ask(place: str) -> tuple[int, bool]:
        with Memory(place, create=False) as memory:
            return memory.search("test").total, memory.store.index.is_complete

    total, is_complete = read_only.ask(ask)
    assert total > 0 and not is_complete


COMMANDS = (
    *("status", "sessions", "sessions --title harbour", "search test", "cost", "stats", "files"),
    *("commands", "patterns", "retro", "lessons list", "lessons propose", "skill stats"),
    *("sources", "sources --accounting", "problems", "doctor", "secrets", "store verify"),
    *("store fingerprint", "live list", "train stats", "archive list", "retain --dry-run"),
    *("show SESSION", "digest SESSION", "timeline SESSION", "tree SESSION", "diff SESSION"),
    *("similar SESSION", "fix error", "how tests", "export -o FILE SESSION", "store backup FILE"),
)


def test_every_reading_command_works(read_only: ReadOnly) -> None:
    def run(place: str) -> list[str]:
        failed = []
        with Memory(place, create=False) as memory:
            uid = next(iter(memory.sessions())).uid
        with tempfile.TemporaryDirectory() as directory:
            for number, words in enumerate(COMMANDS):
                typed = words.replace("FILE", f"{directory}/{number}").replace("SESSION", uid)
                done = CliRunner().invoke(main, [*typed.split(), "--store", place])
                # 3: done, but with problems.
                if done.exit_code not in (0, 3):
                    failed.append(f"{words}: {done.stderr}")
        return failed

    assert read_only.ask(run) == []


CHANGES: dict[str, Callable[[Memory], object]] = {
    "sync": lambda memory: memory.sync(_a_log()),
    "analyze": lambda memory: memory.analyze(next(iter(memory.sessions())).uid),
    "retain": lambda memory: memory.retain(max_age_days=0),
    "live": lambda memory: memory.live.create_session(title="new"),
}


def _a_log() -> Path:
    home = Path(tempfile.mkdtemp())
    log = home / ".claude" / "projects" / "-p" / "5b0c6a1e-0000-4000-8000-000000000000.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"type":"user","message":{"role":"user","content":"hello"},"uuid":"u"}\n')
    return home


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_says_what_it_needs(read_only: ReadOnly, name: str) -> None:
    def change(place: str) -> tuple[str, str]:
        with Memory(place, create=False) as memory, pytest.raises(SessionMemoryError) as refused:
            CHANGES[name](memory)
        return str(refused.value), str(refused.value.hint)

    message, hint = read_only.ask(change)
    assert "cannot be written" in message or "ermission denied" in message, message
    assert "permission" in hint or "grant" in hint


@pytest.mark.only("sqlite")
def test_a_store_of_an_older_release_has_to_be_updated_first(read_only: ReadOnly) -> None:
    file = Path(read_only.place)
    file.parent.chmod(0o755)
    file.chmod(0o644)
    with Memory(file) as memory, memory.store.transaction():
        memory.store.db.execute(f"delete from schema_steps where step = {NEWEST}")
    file.chmod(0o444)
    file.parent.chmod(0o555)

    def use(place: str) -> tuple[str, str]:
        with pytest.raises(StoreError) as refused:
            Memory(place)
        return str(refused.value), str(refused.value.hint)

    message, hint = read_only.ask(use)
    older = f"schema {NEWEST - 1}, which has to be updated to {NEWEST}"
    assert f"{older}, but you may only read it" in message
    assert "who may write it" in hint


@pytest.mark.only("sqlite")
def test_a_store_that_may_not_be_read_says_so(read_only: ReadOnly) -> None:
    Path(read_only.place).chmod(0o200)

    def use(place: str) -> tuple[str, str]:
        with pytest.raises(StoreError) as refused:
            Memory(place)
        return str(refused.value), str(refused.value.hint)

    message, hint = read_only.ask(use)
    assert "cannot be read" in message and "read permission" in hint
