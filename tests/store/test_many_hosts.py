"""Several machines, one store: cursors of their own, sessions in common, and no turn lost."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from forking import start_command, start_script

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.retain.verification import verify
from session_memory.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import check_same, check_sound, contents
from session_memory.testing.stores import PostgresStores

HOSTS = ("ada", "bea", "cleo", "dan")
ROUNDS = 8


class Machine:
    """A home and a host name, with logs of its own and a share of everybody's."""

    def __init__(self, directory: Path, host: str, everybodys: Path) -> None:
        self.host = host
        self.home = directory / host
        self.everybodys = everybodys
        self.claude = ClaudeHome(self.home)
        self.sessions = [self.claude.session(f"{host}-{number}") for number in range(3)]
        (self.home / ".session-memory").mkdir(parents=True)
        (self.home / ".session-memory" / "config.toml").write_text(f'host = "{host}"\n')

    def work(self) -> None:
        for log in self.sessions:
            for number in range(ROUNDS):
                log.prompt(f"{self.host} asks {number}")
                log.answer(call("Bash", command=f"ls {self.host}"), used=usage(number + 1))
                log.result(f"{self.host}\n" * 20)
        self.claude.write()

    def roots(self) -> tuple[Path, ...]:
        """Its own logs, and a directory that is mounted on every machine."""
        return self.home / ".claude", self.everybodys

    def start(self, place: str) -> "subprocess.Popen[bytes]":
        words = [word for root in self.roots() for word in ("--root", str(root))]
        return start_command(
            *("sync", "--json", *words),
            env={**os.environ, "HOME": str(self.home), "SESSION_MEMORY_STORE": place},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def sync(self, store: Store) -> None:
        config = Config()
        sync(store, config, roots(config, self.roots()), host=self.host)


@pytest.fixture
def machines(tmp_path: Path) -> list[Machine]:
    mounted = ClaudeHome(tmp_path / "mounted")
    log = mounted.session("everybody")
    log.prompt("whose is this?")
    log.answer("everybody's", used=usage(7))
    fork = mounted.fork(log, "forked")
    fork.prompt("go on")
    fork.answer("went on", used=usage(9))
    mounted.write()
    found = [Machine(tmp_path, host, mounted.path / ".claude") for host in HOSTS]
    for machine in found:
        # A home that is synchronized: the same session under a path of each machine's own.
        synced = machine.claude.session("synced")
        synced.prompt("on every machine")
        synced.answer("the same", used=usage(11))
        machine.work()
    return found


@pytest.fixture
def expected(machines: list[Machine]) -> list[str]:
    """What one machine after the other leaves in a file."""
    with open_store(":memory:") as store:
        for machine in machines:
            machine.sync(store)
        check_sound(store)
        return contents(store)


@pytest.fixture
def place(server_stores: PostgresStores) -> Iterator[str]:
    yield server_stores.place("team")
    server_stores.close_places()


def finish(process: "subprocess.Popen[bytes]") -> dict[str, int]:
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error.decode()
    counts: dict[str, int] = json.loads(out)
    return counts


def test_four_machines_at_once_leave_what_one_after_the_other_does(
    machines: list[Machine], expected: list[str], place: str
) -> None:
    reports = [finish(process) for process in [machine.start(place) for machine in machines]]
    assert [report["failed"] for report in reports] == [0] * len(HOSTS)
    with open_store(place) as store:
        check_same(expected, contents(store))
        check_sound(store)
        assert {row.host for row in store.sources.every()} == set(HOSTS)
    again = [finish(process) for process in [machine.start(place) for machine in machines]]
    assert [report["ingested"] for report in again] == [0] * len(HOSTS)


def test_the_order_of_the_machines_does_not_matter(
    machines: list[Machine], expected: list[str], place: str
) -> None:
    with open_store(place) as store:
        for machine in reversed(machines):
            machine.sync(store)
        check_same(expected, contents(store))


def test_a_session_on_every_machine_is_one_session(machines: list[Machine], place: str) -> None:
    with open_store(place) as store:
        for machine in machines:
            machine.sync(store)
        session = store.sessions.get("claude:synced")
        assert session is not None
        assert (session.cost.output_tokens, session.host) == (11, "ada")
        row = store.sessions.row("claude:synced")
        assert row is not None and len(store.sessions.source_ids(row.id)) == len(HOSTS)


@pytest.mark.kill
@pytest.mark.parametrize("killed_at", [1, 3, 6])
def test_a_machine_that_dies_in_between_takes_nothing_with_it(
    machines: list[Machine], expected: list[str], place: str, killed_at: int
) -> None:
    """One dies inside its so manieth write, holding the lock; the others go on."""
    victim = start_script(
        *(DYING, str(killed_at), machines[0].host, place),
        *map(str, machines[0].roots()),
        env={**os.environ, "HOME": str(machines[0].home)},
    )
    others = [machine.start(place) for machine in machines[1:]]
    assert victim.wait(timeout=120) == -signal.SIGKILL
    for process in others:
        finish(process)
    finish(machines[0].start(place))
    with open_store(place) as store:
        check_same(expected, contents(store))
        assert verify(store, sample=1000).findings == []


DYING = """
import os, signal, sys
from pathlib import Path
from session_memory.collect import sync as syncing
from session_memory.collect.batch_writing import BatchWriting
from session_memory.config import Config
from session_memory.collect.discover import roots
from session_memory.store import open_store

at, host, place, *where = sys.argv[1:]
really, calls = BatchWriting._write_chunk, []

def dying(self, *arguments):
    really(self, *arguments)
    calls.append(1)
    if len(calls) == int(at):
        os.kill(os.getpid(), signal.SIGKILL)

BatchWriting._write_chunk = dying
config = Config()
with open_store(place) as store:
    syncing.sync(store, config, roots(config, tuple(map(Path, where))), host=host)
"""
