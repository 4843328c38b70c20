"""How answers grow with the number of sessions, in SQLite and in PostgreSQL.

    python benchmarks/scale.py                              10,000 and 100,000 sessions
    python benchmarks/scale.py --sessions 1000000           a million; see below
    python benchmarks/scale.py --keep DIR --no-postgres     logs and files stay in DIR

Sessions are small invented logs of Claude Code (`listing.write_logs`), collected by
``session-memory sync`` as any log is. Every command runs in a new process. The least of several
runs counts: CPU time of the command, and the wall time of the same run. On PostgreSQL the wall
time has the server's work. A million sessions need about 16 GB for the logs and both stores. The
command looks at the free space first, and deletes the stores that it made.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from budgets import table
from listing import write_logs

from session_memory.testing.postgres import NoServer, Server
from session_memory.testing.stores import PostgresStores

SIZES = (10_000, 100_000)
TIMES = 3
# Log, SQLite store and PostgreSQL store of one session, with the server's write-ahead log.
BYTES_EACH = 16_000
QUESTIONS = {
    "sessions": ("sessions", "--limit", "20"),
    "sessions --repo": ("sessions", "--limit", "20", "--repo", "billing"),
    "search, one hit": ("search", "Task 777: repair"),
    "search, a word of all": ("search", "repair"),
    "cost": ("cost",),
    "statusline": ("statusline",),
    "stats": ("stats",),
    "sync, nothing new": ("sync",),
}


class Spent(NamedTuple):
    cpu: float
    wall: float


def run(home: Path, store: str, *words: str) -> Spent:
    """One command in a new process with its own home."""
    program = Path(sys.executable).with_name("session-memory")
    environment = {**os.environ, "HOME": str(home), "SESSION_MEMORY_STORE": store}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [program, *words, *(["--json"] if words[0] != "statusline" else [])],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(cpu, wall)


def measured(home: Path, store: str) -> dict[str, Spent]:
    found = {}
    for name, words in {"first sync": ("sync",), **QUESTIONS}.items():
        times = 1 if name == "first sync" else TIMES
        spent = found[name] = min(run(home, store, *words) for _ in range(times))
        print(f"  {name}: {spent.cpu:.2f} s CPU, {spent.wall:.2f} s", file=sys.stderr, flush=True)
    return found


def every_size(
    scratch: Path, sizes: list[int], servers: Path | None, *, with_sqlite: bool
) -> Iterator[tuple[int, str, dict[str, Spent], int]]:
    """``(sessions, database, figures, bytes of the store)``. Each size is removed after it.

    Each size gets a server of its own below ``servers``: to empty a large store takes minutes.
    """
    for sessions in sizes:
        place = scratch / str(sessions)
        home, file = place / "home", place / "memory.db"
        if not home.exists():
            write_logs(home, sessions)
        if with_sqlite:
            print(f"{sessions:,} sessions in SQLite", file=sys.stderr, flush=True)
            yield sessions, "SQLite", measured(home, str(file)), file.stat().st_size
            file.unlink()
        if servers is None:
            continue
        server = Server(servers.with_name(f"{servers.name}-{sessions}"), durable=True)
        try:
            address = PostgresStores(server.ensure()).empty_place(f"scale{sessions}")
            print(f"{sessions:,} sessions in PostgreSQL", file=sys.stderr, flush=True)
            yield sessions, "PostgreSQL", measured(home, address), 0
        finally:
            server.remove()


def rows(
    results: list[tuple[int, str, dict[str, Spent], int]], database: str
) -> list[tuple[str, ...]]:
    mine = [one for one in results if one[1] == database]
    names = [f"{sessions:,} sessions" for sessions, *_ in mine]
    found: list[tuple[str, ...]] = [(f"{database}: CPU (wall)", *names)]
    for question in ("first sync", *QUESTIONS):
        cells = [f"{one[2][question].cpu:.2f} s ({one[2][question].wall:.2f} s)" for one in mine]
        found.append((question, *cells))
    if any(one[3] for one in mine):
        found.append(("store", *(f"{one[3] / 1e6:,.0f} MB" for one in mine)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the logs are kept")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--no-postgres", action="store_true")
    only.add_argument("--no-sqlite", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="session-memory-scale-") as temporary:
        scratch = options.keep or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        needed, free = max(options.sessions) * BYTES_EACH, shutil.disk_usage(scratch).free
        if needed > free:
            print(f"{needed / 1e9:.0f} GB are needed, {free / 1e9:.0f} are free", file=sys.stderr)
            return 1
        servers = None if options.no_postgres else Path(f"{temporary}-server")
        try:
            with_sqlite = not options.no_sqlite
            results = list(every_size(scratch, options.sessions, servers, with_sqlite=with_sqlite))
        except NoServer as error:
            print(f"PostgreSQL is not measured: {error}", file=sys.stderr)
            return 1
    for database in dict.fromkeys(one[1] for one in results):
        print("\n".join([*table(rows(results, database)), ""]))
    figures = [(sessions, name, found, size) for sessions, name, found, size in results]
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
