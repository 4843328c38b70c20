"""Fixtures for hostile tests: an empty home, and a store that can be checked as a whole."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from warm_forks import COLLECTING, Fork, WarmForks

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config
from session_memory.core.time import now_ms
from session_memory.derive.rebuilding import rebuild
from session_memory.retain.native_files import restore_native
from session_memory.retain.verification import verify
from session_memory.store.memory_store import temporary_store
from session_memory.store.store import Store, open_store
from session_memory.store.usage import BUCKETS
from session_memory.testing.stores import Stores

HOST = "here"
CHILD = Path(__file__).with_name("child.py")
FORKS = WarmForks("hostile.child", *COLLECTING)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that no test finds the logs of the person who runs it."""
    place = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(place))
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "SESSION_MEMORY_STORE"):
        monkeypatch.delenv(name, raising=False)
    return place


@dataclass
class Memory:
    """A store and the root of its logs. It is the file ``path`` unless ``place`` is given."""

    root: Path
    path: Path
    place: str = ""

    @property
    def where(self) -> str:
        return self.place or str(self.path)

    def sync(self) -> SyncOutcome:
        with self.opened() as store:
            return collect(store, self.root)

    def opened(self) -> Store:
        # No test cuts the power. Without waiting for the disk they take half the time.
        return open_store(self.where, durability="normal")

    def fingerprint(self) -> str:
        with self.opened() as store:
            return store.fingerprint()

    def problems(self) -> list[tuple[str, str]]:
        """``(file name, reason)`` of every problem."""
        with self.opened() as store:
            return [(Path(p.path).name, p.reason) for p in store.problems.every()]

    def tokens(self) -> int:
        """All input tokens of all sessions; the tests' responses use 10 each."""
        with self.opened() as store:
            return sum(session.cost.input_tokens for session in store.sessions.every())

    def summaries(self, uid: str) -> list[str]:
        with self.opened() as store:
            row = store.sessions.row(uid)
            assert row is not None, f"no session {uid}"
            return [event.summary for event in store.events.of(row.id, uid)]

    def uids(self) -> list[str]:
        with self.opened() as store:
            return store.sessions.uids()

    def assert_sound(self) -> None:
        """Check that the store accounts for all lines, rebuilds to the same and restores files."""
        with self.opened() as store:
            # All sessions are derived again below.
            assert_sound(store, sample=1)
            self._assert_restores(store)
            before = store.fingerprint()
            rebuild(store, now_ms(), Config().domain_of, lambda source: None)
            assert store.fingerprint() == before

    def _assert_restores(self, store: Store) -> None:
        target = self.path.with_name(f"restored-{now_ms()}")
        restored = {item.path: item for item in restore_native(store, None, target)}
        for row in store.sources.every():
            native = Path(as_named(row.path))
            if row.superseded or row.vanished or row.ingested_at is None or not native.is_file():
                continue
            copy = target / as_named(row.home_path)
            assert copy in restored
            assert copy.read_bytes() == native.read_bytes(), f"{native} came back changed"


def as_named(text: str) -> str:
    """A stored path as a file name. Bytes that are no UTF-8 are stored as escapes."""
    return re.sub(r"\\udc([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), text)


@pytest.fixture
def in_time() -> Iterator[None]:
    """The test fails instead of hanging."""

    def too_late(number: int, frame: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def memory(tmp_path: Path, stores: Stores) -> Memory:
    root = tmp_path / "logs"
    root.mkdir()
    beside = tmp_path / "store"
    beside.mkdir(mode=0o700)
    return Memory(root, beside / "memory.db", stores.place("memory"))


def collect(store: Store, root: Path) -> SyncOutcome:
    config = Config()
    outcome = sync(store, config, roots(config, (root,)), host=HOST)
    report = outcome.report
    assert report.discovered == report.ingested + report.unchanged + report.failed
    return outcome


def fresh_fingerprint(root: Path) -> str:
    """The fingerprint after one undisturbed sync of ``root`` into a new store."""
    with temporary_store() as store:
        collect(store, root)
        return store.fingerprint()


def assert_sound(store: Store, sample: int = 1000) -> None:
    found = verify(store, sample=sample)
    assert found.findings == []
    assert all(not account.unaccounted for account in store.sources.account().values())
    assert_counted_once(store)


def assert_counted_once(store: Store) -> None:
    """Check that each response counts for one session and each cost is the sum of its responses."""
    counted: set[tuple[str, str | None]] = set()
    with store.db.snapshot():
        for session in store.sessions.every():
            row = store.sessions.row(session.session_uid)
            assert row is not None
            used = store.usage.of(row.id, session.session_uid)
            for usage in used:
                # Another session may have a response with the same id, at another time.
                response = usage.usage_id, usage.ts
                assert response not in counted, f"{usage.usage_id} counts twice"
                counted.add(response)
            for name in BUCKETS:
                assert getattr(session.cost, name) == sum(getattr(u, name) for u in used)


@pytest.fixture(scope="session", autouse=True)
def warm_forks() -> Iterator[None]:
    yield
    FORKS.close()


def start_child(task: str, *arguments: object) -> Fork:
    """Start a task of ``child.py`` in a process of its own."""
    return FORKS.start("hostile.child:run", [task, *arguments])


def run_child(
    task: str, *arguments: object, before: tuple[str, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """Run a task of ``child.py`` in a process of its own and wait for its end."""
    if not before:
        child = start_child(task, *arguments)
        out, errors = child.communicate()
        return subprocess.CompletedProcess(task, child.wait(), out.decode(), errors.decode())
    source = Path(sys.modules["session_memory"].__file__ or "").parents[1]
    return subprocess.run(
        [*before, sys.executable, str(CHILD), task, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def unprivileged() -> tuple[str, ...]:
    """Words to put before a command so that file permissions apply to it, even for root."""
    if os.geteuid() != 0:
        return ()
    before = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    try:
        subprocess.run([*before, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root may read and write everything, and setpriv is not installed")
    return before


@pytest.fixture
def children() -> Iterator[list[Fork]]:
    """A list for the processes that a test starts. They are killed after the test."""
    started: list[Fork] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()
