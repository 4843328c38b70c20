"""How long live appends wait while another process does long work in the same store.

    python live_waits.py                                  both databases, as tables
    python live_waits.py --sessions 150 --mb 30 --forks 300   a quick look
    python live_waits.py child PLACE FILE                 the process that appends

One process appends a message every 5 ms and notes how long each append took, while a second one
runs a command. The durability is "normal", so that no wait for the disk is measured. On a busy
machine an append also waits for a processor. So the longest hold of the write lock is printed as
well, by the clock and in CPU time of the process that held it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from budgets import table
from corpus import PROJECTS, Corpus, find_corpus
from processes import CHECKOUT, Bench, Run

from session_memory.live import SessionStore
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.postgres import NoServer, Server
from session_memory.testing.stores import PostgresStores

PAUSE_S = 0.005
SESSIONS, MEGABYTES, FORKS = 500, 100, 3000

Measure = tuple[str, Callable[[], Run | None]]


def append_until(place: str, stop: Path) -> None:
    """Append until the file ``stop`` is there, then print how many seconds each append took."""
    store = SessionStore.open(place, durability="normal")
    session = store.create_session()
    store.append_message(session, role="user", content="x" * 1000)
    print("ready", flush=True)
    waits = []
    while not stop.exists():
        began = time.perf_counter()
        store.append_message(session, role="user", content="x" * 1000)
        waits.append(time.perf_counter() - began)
        time.sleep(PAUSE_S)
    print(json.dumps(waits), flush=True)


@contextmanager
def appending(bench: Bench, place: str, waits: list[float]) -> Iterator[None]:
    """Append in a second process meanwhile; ``waits`` then holds how long each append took."""
    stop = bench.scratch / f"stop-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [sys.executable, __file__, "child", place, str(stop)],
        stdout=subprocess.PIPE,
        text=True,
        env=bench.environment(),
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        stop.touch()
        out, _ = process.communicate()
        waits += json.loads(out) if out.strip() else []


class Waits:
    """All operations on one store, in an order in which each has something to do."""

    def __init__(self, bench: Bench, corpus: Corpus, place: str, forks: int) -> None:
        self._bench = bench
        self._place = place
        self._home = bench.scratch / f"home-{time.monotonic_ns()}"
        self._late = sorted((corpus.home / PROJECTS).rglob("*.jsonl"))[-20:]
        self._corpus = corpus
        shutil.copytree(corpus.home, self._home)
        for log in self._late:
            (self._home / log.relative_to(corpus.home)).unlink()
        self._claude = ClaudeHome(self._home)
        self._origin = self._claude.session("00-origin")
        for number in range(5):
            self._origin.prompt(f"prompt {number}")
            self._origin.answer(f"answer {number}")
        for number in range(forks):
            self._claude.fork(self._origin, f"fork-{number:05}").prompt(f"own {number}")
        self._claude.write()
        self._config = bench.scratch / f"config-{time.monotonic_ns()}.toml"
        archive = bench.scratch / f"archive-{time.monotonic_ns()}"
        self._config.write_text(
            f'[retention]\nraw_max_age_days = 0\nafter_sync = false\narchive_dir = "{archive}"\n',
            encoding="utf-8",
        )
        self._run("sync", "--root", str(self._home))

    def _run(self, *words: str) -> Run:
        options = ("--store", self._place, "--config", str(self._config), "--json")
        return self._bench.cli(*words, *options, ok=(0, 1, 2, 3), env={"BENCH_HOLDS": "1"})

    def operations(self) -> Iterator[Measure]:
        made, backup = self._bench.scratch / "made", self._bench.scratch / "backup.db"
        uids = [
            one["session_uid"] for one in self._run("sessions", "--limit", "60").answer["sessions"]
        ]
        yield "nothing else", lambda: time.sleep(3)
        yield "sync of 20 new logs", self._sync_late
        yield "sync of one more fork", self._sync_fork
        yield "sync, the origin of all forks goes on", self._sync_origin
        yield "analyze", lambda: self._run("analyze")
        yield "store reindex", lambda: self._run("store", "reindex")
        yield "store rebuild", lambda: self._run("store", "rebuild")
        yield "export of 50 sessions", lambda: self._run("export", *uids[:50], "-o", str(made))
        yield "store backup", lambda: self._run("store", "backup", str(backup))
        copy = str(self._bench.scratch / f"copy-{time.monotonic_ns()}.db")
        yield "store copy", lambda: self._run("store", "copy", self._place, copy)
        yield "forget of 3 sessions", lambda: self._run("forget", *uids[:3], "--yes")
        yield "import of 50 sessions", lambda: self._run("import", str(made))
        # The rebuild and the import have changed sessions, and only analyzed ones are evicted.
        self._run("analyze")
        yield "retain, all sessions", lambda: self._run("retain", "--yes")
        yield "restore, all sessions", lambda: self._run("restore", "--all")
        yield "store compact", lambda: self._run("store", "compact")

    def _sync_late(self) -> Run:
        for log in self._late:
            target = self._home / log.relative_to(self._corpus.home)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, target)
        return self._run("sync", "--root", str(self._home))

    def _sync_fork(self) -> Run:
        fork = self._claude.fork(self._origin, "one-more")
        fork.prompt("one more")
        self._claude.write([fork])
        return self._run("sync", "--root", str(self._home))

    def _sync_origin(self) -> Run:
        """A first record of its own after all that its forks copied: they are derived again."""
        self._origin.prompt("the origin goes on")
        self._claude.write([self._origin])
        return self._run("sync", "--root", str(self._home))

    def rows(self) -> Iterator[tuple[str, ...]]:
        yield (
            "meanwhile",
            "took",
            "appends",
            "p50",
            "p99",
            "longest",
            "lock held",
            "of CPU",
            "holds",
        )
        for name, work in self.operations():
            waits: list[float] = []
            began = time.perf_counter()
            with appending(self._bench, self._place, waits):
                run = work()
            took = time.perf_counter() - began
            waits.sort()
            part = [waits[int(len(waits) * share)] for share in (0.5, 0.99)] if waits else [0, 0]
            figures = (f"{1000 * wait:,.1f} ms" for wait in (*part, waits[-1] if waits else 0))
            row = (name, f"{took:.1f} s", f"{len(waits):,}", *figures, *_holds(run))
            print(" ", *row, file=sys.stderr, flush=True)
            yield row


def _holds(run: Run | None) -> tuple[str, str, str]:
    """The longest hold of the write lock by the clock and of CPU time, and the number of holds."""
    if run is None or run.holds is None:
        return "", "", ""
    held = (f"{1000 * run.holds[name]:,.0f} ms" for name in ("wall", "cpu"))
    return *held, f"{run.holds['count']:,.0f}"


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        append_until(sys.argv[2], Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--mb", type=float, default=MEGABYTES)
    parser.add_argument("--forks", type=int, default=FORKS)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    options = parser.parse_args()
    os.chdir(CHECKOUT)
    with tempfile.TemporaryDirectory(prefix="session-memory-waits-") as scratch:
        bench = Bench(Path(scratch))
        corpus = find_corpus(bench, None, options.sessions, options.mb)
        if options.only != "postgresql":
            place = str(bench.scratch / "memory.db")
            print(
                "SQLite", *table(list(Waits(bench, corpus, place, options.forks).rows())), sep="\n"
            )
        if options.only == "sqlite":
            return
        server = Server(Path(tempfile.mkdtemp(prefix="session-memory-waits-server-")), durable=True)
        try:
            stores = PostgresStores(server.ensure())
            rows = Waits(bench, corpus, stores.empty_place("waits"), options.forks).rows()
            print("", "PostgreSQL", *table(list(rows)), sep="\n")
            stores.remove()
        except NoServer as error:
            print(f"PostgreSQL is not measured: {error}")
        finally:
            server.remove()


if __name__ == "__main__":
    main()
