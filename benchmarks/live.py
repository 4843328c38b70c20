"""The live store beside other session stores and raw floors: append, load, tail, many at once.

    python live.py PEERS                            everything, as tables
    python live.py crowd                            only: one and 16 writers at ``full``
    python live.py child WORDS…                     one measurement, in a process of its own

PEERS is a directory with one directory per peer, as ``pip install --target`` makes them:
``power-loop__0.2.0``, ``power-loop``, ``openai-agents``. What is not there is not measured.

Appends are of 1 KB, one at a time, acknowledged one by one. All run with the durability that
power-loop has and cannot change (WAL, ``synchronous=normal``), unless their name says otherwise.
Of several runs, taken in turns, the best counts: CPU time is what a busy machine distorts least.
"""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from budgets import table

APPENDS, LOADED, TURNS = 10_000, 20_000, 3
TEXT = "x" * 1000
SCHEMA = """
    create table s (id text primary key, next integer);
    create table m (session text, seq integer, role text, content text, at integer,
        primary key (session, seq));
    insert into s values ('s', 1);
"""

CROWD = 16
CROWDS = (
    ("4 KB written and synced, again and again", "sync", 2000),
    ("one writer", "one", 2000),
    (f"{CROWD} threads", "threads", 400),
    (f"{CROWD} processes", "processes", 400),
    (f"{CROWD} tasks of asyncio", "tasks", 400),
)

Append = Callable[[], Any]


# ---------------------------------------------------------------- the stores, each as an append


def ours(place: Path, peers: Path, durability: str = "normal") -> Append:
    from session_memory.live import SessionStore  # noqa: PLC0415

    store = SessionStore.open(place / "memory.db", durability=durability)
    session = store.create_session()
    return lambda: store.append_message(session, role="user", content=TEXT)


def ours_full(place: Path, peers: Path) -> Append:
    return ours(place, peers, "full")


def power_loop_02(place: Path, peers: Path) -> Append:
    # By its file: its package wants libraries that the store has no use for.
    source = peers / "power-loop__0.2.0" / "power_loop" / "runtime" / "session_store.py"
    spec = importlib.util.spec_from_file_location("power_loop_02", source)
    if spec is None or spec.loader is None or not source.exists():
        raise ImportError(str(source))
    module = sys.modules["power_loop_02"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    store = module.SessionStore.open(place / "power-loop.db")
    session = store.create_session()
    return lambda: store.append_message(session, role="user", content=TEXT)


def power_loop_legacy(place: Path, peers: Path) -> Append:
    sys.path.insert(0, str(peers / "power-loop"))
    module = importlib.import_module("power_loop.runtime.session_store")
    store = module.SessionStore.open(place / "power-loop.db")
    session = store.create_session()
    return lambda: store.append_message(session, role="user", content=TEXT)


def floor_jsonl(place: Path, peers: Path) -> Append:
    file = os.open(place / "log.jsonl", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    return lambda: os.write(file, json.dumps({"role": "user", "content": TEXT}).encode() + b"\n")


def floor_sqlite(place: Path, peers: Path) -> Append:
    """The least that keeps a seq: read it, add the row, count it up, in one transaction."""
    import apsw  # noqa: PLC0415

    db = apsw.Connection(str(place / "floor.db"))
    list(db.execute("pragma journal_mode=wal; pragma synchronous=normal;" + SCHEMA))

    def append() -> None:
        db.execute("begin immediate")
        [seq] = next(db.execute("select next from s where id = 's'"))
        db.execute("insert into m values ('s', ?, 'user', ?, ?)", (seq, TEXT, time.time_ns()))
        db.execute("update s set next = ? where id = 's'", (seq + 1,))
        db.execute("commit")

    return append


async def ours_async(place: Path, peers: Path) -> Callable[[], Awaitable[Any]]:
    from session_memory.live import AsyncSessionStore  # noqa: PLC0415

    store = await AsyncSessionStore.open(place / "memory.db", durability="normal")
    session = await store.create_session()
    return lambda: store.append_message(session, role="user", content=TEXT)


async def power_loop_async(place: Path, peers: Path) -> Callable[[], Awaitable[Any]]:
    sys.path.insert(0, str(peers / "power-loop"))
    module = importlib.import_module("power_loop.runtime.store")
    store = await module.SessionStore.open(str(place / "power-loop.db"))
    session = await store.create_session()
    return lambda: store.append_message(session, role="user", content=TEXT)


async def openai_session(place: Path, peers: Path) -> Callable[[], Awaitable[Any]]:
    sys.path.append(str(peers / "openai-agents"))
    module = importlib.import_module("agents.memory.sqlite_session")
    session = module.SQLiteSession("s", place / "openai.db")
    return lambda: session.add_items([{"role": "user", "content": TEXT}])


STORES: dict[str, Callable[[Path, Path], Append]] = {
    "Session Memory": ours,
    "power-loop 0.2.0": power_loop_02,
    "power-loop 8, legacy": power_loop_legacy,
    "floor: a seq in SQLite": floor_sqlite,
    "floor: JSONL, never synced": floor_jsonl,
    'Session Memory, "full"': ours_full,
}
ASYNC_STORES: dict[str, Callable[[Path, Path], Awaitable[Callable[[], Awaitable[Any]]]]] = {
    "Session Memory, async": ours_async,
    "power-loop 8, async": power_loop_async,
    "OpenAI Agents SQLiteSession": openai_session,
}


# ---------------------------------------------------------------- one measurement


def measured(count: int, append: Append) -> dict[str, float]:
    append()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        append()
    return _cost(wall, cpu, count)


async def measured_async(
    count: int, opening: Awaitable[Callable[[], Awaitable[Any]]]
) -> dict[str, float]:
    append = await opening
    await append()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        await append()
    return _cost(wall, cpu, count)


def _cost(wall: float, cpu: float, count: int) -> dict[str, float]:
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"per_second": count / wall, "cpu_us": cpu / count * 1e6}


def appended(name: str, place: Path, peers: Path, count: int) -> dict[str, float]:
    if name in STORES:
        return measured(count, STORES[name](place, peers))
    # A peer that leaves its threads running must not keep us from printing the figures.
    return asyncio.run(measured_async(count, ASYNC_STORES[name](place, peers)))


def loaded(place: Path) -> dict[str, float]:
    """A context of 20,000 messages, in both shapes, beside the bare rows of the same file."""
    from session_memory.live import SessionStore  # noqa: PLC0415

    store = SessionStore.open(place / "memory.db", durability="normal")
    session = store.create_session()
    block = [{"type": "text", "text": TEXT}, {"type": "tool_use", "id": "c", "name": "bash"}]
    pair = [
        {"role": "user", "content": TEXT},
        {"role": "assistant", "content": block, "meta": {"model": "m"}},
    ]
    few = store.create_session()
    for _ in range(50):
        store.append_messages(few, pair)
    for _ in range(LOADED // 200):
        store.append_messages(session, pair * 100)
    store.load_active_messages(session)
    return {
        "load_ms": _best(lambda: store.load_active_messages(session)),
        "raw_ms": _best(lambda: _raw(place / "memory.db")),
        "tail_ms": _best(lambda: store.load_tail(session), 200),
        "short_tail_ms": _best(lambda: store.load_tail(few), 200),
    }


def _raw(path: Path) -> list[tuple[Any, ...]]:
    import apsw  # noqa: PLC0415
    import msgspec  # noqa: PLC0415

    decode = msgspec.json.Decoder().decode
    rows = apsw.Connection(str(path)).execute(
        "select seq, stands_after, role, name, content, tool_call_id, round_index, body,"
        " created_at, blocks, tool_calls, meta"
        " from live_messages where lane_id = (select min(lane_id) from live_messages) order by seq"
    )
    return [
        (
            *row[:9],
            row[9] and decode(row[9]),
            row[10] and decode(row[10]),
            row[11] and decode(row[11]),
        )
        for row in rows
    ]


def _best(work: Callable[[], Any], times: int = 5) -> float:
    spent = []
    for _ in range(times):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent) * 1000


def long_session(place: Path) -> dict[str, float]:
    """What an append, a tail and the state cost at message 100 and at message 100,000."""
    from session_memory.live import SessionStore  # noqa: PLC0415

    store = SessionStore.open(place / "memory.db", durability="normal")
    session = store.create_session()
    message = {"role": "user", "content": TEXT}
    figures = {}
    for length in (100, 100_000):
        while (head := store.head(session)) < length:
            store.append_messages(session, [message] * min(1000, length - head))
        append = measured(2000, lambda: store.append_message(session, **message))
        figures[f"append_us_{length}"] = append["cpu_us"]
        figures[f"tail_ms_{length}"] = _best(lambda: store.load_tail(session), 200)
        figures[f"state_ms_{length}"] = _best(lambda: store.get_state(session), 200)
    return figures


def many(place: Path, count: int) -> dict[str, float]:
    """Four processes on one session; how many appends failed, and whether a seq is missing."""
    from session_memory.live import SessionStore  # noqa: PLC0415

    store = SessionStore.open(place / "memory.db", durability="normal")
    session = store.create_session()
    words = [sys.executable, __file__, "child", "writer", str(place), session, str(count)]
    started = time.perf_counter()
    writers = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4)]
    seqs = [int(seq) for writer in writers for seq in writer.communicate()[0].split()]
    wall = time.perf_counter() - started
    missing = set(range(1, 4 * count + 1)).difference(seqs)
    return {"failed": 4 * count - len(seqs), "gaps": len(missing), "per_second": 4 * count / wall}


def writer(place: Path, session: str, count: int) -> None:
    from session_memory.live import SessionStore  # noqa: PLC0415

    store = SessionStore.open(place / "memory.db", durability="normal")
    seqs = [store.append_message(session, role="user", content=TEXT) for _ in range(count)]
    print(*seqs)


def bare_syncs(place: Path, count: int) -> float:
    """How often a second a program can write 4 KB and sync, with nothing else to do."""
    file = os.open(place / "syncs", os.O_CREAT | os.O_WRONLY, 0o600)
    started = time.perf_counter()
    for _ in range(count):
        os.write(file, b"x" * 4096)
        os.fdatasync(file)
    return count / (time.perf_counter() - started)


def crowd(place: Path, how: str, count: int) -> dict[str, float]:
    """Writers at ``full``, each on a session of its own: how many appends, and the longest."""
    from session_memory.live import AsyncSessionStore, SessionStore  # noqa: PLC0415

    if how == "sync":
        return {"per_second": bare_syncs(place, count)}
    path = place / "memory.db"
    store = SessionStore.open(path)
    sessions = [store.create_session() for _ in range(1 if how == "one" else CROWD)]
    store.append_message(sessions[0], role="user", content=TEXT)
    waits: list[float] = []

    def write(session: str) -> None:
        for _ in range(count):
            started = time.perf_counter()
            store.append_message(session, role="user", content=TEXT)
            waits.append(time.perf_counter() - started)

    async def write_all() -> None:
        async with await AsyncSessionStore.open(path) as awaited:

            async def write_awaited(session: str) -> None:
                for _ in range(count):
                    started = time.perf_counter()
                    await awaited.append_message(session, role="user", content=TEXT)
                    waits.append(time.perf_counter() - started)

            await asyncio.gather(*map(write_awaited, sessions))

    started = time.perf_counter()
    if how == "tasks":
        asyncio.run(write_all())
    elif how == "processes":
        return _crowd_of_processes(place, sessions, count)
    else:
        threads = [threading.Thread(target=write, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    wall = time.perf_counter() - started
    return {"per_second": len(waits) / wall, "longest_ms": max(waits) * 1000}


def _crowd_of_processes(place: Path, sessions: list[str], count: int) -> dict[str, float]:
    writers = []
    for session in sessions:
        words = [sys.executable, __file__, "child", "member", str(place), session, str(count)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        writers.append(subprocess.Popen(words, **pipes))  # type: ignore[call-overload]
    for one in writers:
        one.stdout.readline()
    started = time.perf_counter()
    for one in writers:
        one.stdin.close()
    longest = max(float(one.stdout.readline()) for one in writers)
    wall = time.perf_counter() - started
    for one in writers:
        one.wait()
    return {"per_second": len(writers) * count / wall, "longest_ms": longest * 1000}


def member(place: Path, session: str, count: int) -> None:
    from session_memory.live import SessionStore  # noqa: PLC0415

    store = SessionStore.open(place / "memory.db")
    print("ready", flush=True)
    sys.stdin.read()
    waits = []
    for _ in range(count):
        started = time.perf_counter()
        store.append_message(session, role="user", content=TEXT)
        waits.append(time.perf_counter() - started)
    print(max(waits), flush=True)


# ---------------------------------------------------------------- all of them


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="session-memory-live-") as place:
        yield Path(place)


def in_a_process(*words: object) -> Any:
    """The figures of a measurement; None where what it measures is not there."""
    with scratch() as place:
        command = [
            sys.executable,
            __file__,
            "child",
            str(words[0]),
            str(place),
            *map(str, words[1:]),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"  {words[1:]}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compare(peers: Path, turns: int = TURNS) -> dict[str, dict[str, float]]:
    """Every store in turns, so that a busy moment falls on none of them alone."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(turns):
        for name in (*STORES, *ASYNC_STORES):
            count = APPENDS if name in STORES else APPENDS // 10
            found = in_a_process("append", name, peers, count)
            if found and found["cpu_us"] < best.get(name, found | {"cpu_us": 1e9})["cpu_us"]:
                best[name] = found
    return best


def measure(peers: Path) -> tuple[dict[str, float], list[str]]:
    """The figures for the budgets, and the tables behind them."""
    stores = compare(peers)
    load, long, at_once = (
        *(in_a_process("load"), in_a_process("long")),
        in_a_process("many", 2000),
    )
    figures: dict[str, float] = {
        "live_load": load["load_ms"] / load["raw_ms"],
        "live_tail": long["tail_ms_100000"] / long["tail_ms_100"],
        "live_length": long["append_us_100000"] / long["append_us_100"],
        "live_failed": at_once["failed"] + at_once["gaps"],
    }
    mine, theirs = stores["Session Memory"]["cpu_us"], "power-loop 8, legacy"
    if theirs in stores:
        figures["live_append"] = mine / stores[theirs]["cpu_us"]
    mine, theirs = stores["Session Memory, async"]["per_second"], "power-loop 8, async"
    if theirs in stores:
        figures["live_async"] = stores[theirs]["per_second"] / mine
    rows = [("appends of 1 KB, one by one", "per second", "CPU each")]
    for name, found in stores.items():
        rows.append((name, f"{found['per_second']:,.0f}", f"{found['cpu_us']:.0f} µs"))
    more = [
        ("live store, also", "measured"),
        ("context of 20,000 messages", f"{load['load_ms']:.0f} ms"),
        ("the bare rows, selected and decoded", f"{load['raw_ms']:.0f} ms"),
        ("the last 50 of them", f"{load['tail_ms']:.2f} ms"),
        ("append at message 100", f"{long['append_us_100']:.0f} µs"),
        ("append at message 100,000", f"{long['append_us_100000']:.0f} µs"),
        ("the last 50 at message 100", f"{long['tail_ms_100']:.2f} ms"),
        ("the last 50 at message 100,000", f"{long['tail_ms_100000']:.2f} ms"),
        ("the state at message 100", f"{long['state_ms_100']:.2f} ms"),
        ("the state at message 100,000", f"{long['state_ms_100000']:.2f} ms"),
        ("4 processes × 2,000, one session", f"{at_once['per_second']:,.0f} per second"),
        ("of these failed or missing", f"{figures['live_failed']:.0f}"),
    ]
    return figures, [*table(rows), "", *table(more), "", *table(crowd_rows())]


def crowd_rows() -> list[tuple[str, ...]]:
    """Writers at ``full`` beside a loop that does nothing but sync."""
    rows: list[tuple[str, ...]] = [('appends at "full"', "per second", "longest")]
    for name, how, count in CROWDS:
        found = in_a_process("crowd", how, count)
        longest = f"{found['longest_ms']:.0f} ms" if "longest_ms" in found else ""
        rows.append((name, f"{found['per_second']:,.0f}", longest))
    return rows


def child(task: str, place: str, *words: str) -> None:
    where = Path(place)
    if task == "writer":
        writer(where, words[0], int(words[1]))
        return
    if task == "member":
        member(where, words[0], int(words[1]))
        return
    if task == "append":
        found = appended(words[0], where, Path(words[1]), int(words[2]))
    elif task == "crowd":
        found = crowd(where, words[0], int(words[1]))
    elif task == "many":
        found = many(where, int(words[0]))
    else:
        found = loaded(where) if task == "load" else long_session(where)
    print(json.dumps(found), flush=True)
    # Some peers leave threads behind that never end.
    os._exit(0)


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
        return
    if sys.argv[1:] == ["crowd"]:
        print("\n".join(table(crowd_rows())))
        return
    peers = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SESSION_MEMORY_PEERS", "."))
    figures, lines = measure(peers.absolute())
    print("\n".join(lines))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
