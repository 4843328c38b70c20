"""How fast, how cheap and how even a watch is: a process of its own, beside the whole corpus.

Lines are appended to logs of our own; a line counts as arrived when another connection to the
store sees its session grown, which is all that `show` needs.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

from corpus import PROJECTS, Corpus
from processes import CHECKOUT, Bench, Failed

from session_memory.store import Store, open_store

FILES = 200
ROUNDS = 10
SINGLE = 60
LINES = 10_000
IDLE_S = 20.0
LATE_S = 30.0
ASKED_EVERY_S = 0.005
_STORED = "select uid, event_count from sessions where uid in ({keys})"


@dataclass
class Watched:
    """Seconds from the write of a line to its event in the store; shares of a processor; bytes."""

    single: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)
    idle_cpu: float = 0.0
    early_rss: int = 0
    late_rss: int = 0
    lines: int = 0


class Logs:
    """Some sessions that somebody is writing; ``written`` says how many lines each has."""

    def __init__(self, home: Path, count: int) -> None:
        folder = home / PROJECTS / "-bench-watched"
        folder.mkdir(parents=True)
        self._paths = {f"w{number:08}": folder / f"w{number:08}.jsonl" for number in range(count)}
        self.written = dict.fromkeys(self._paths, 0)

    def append(self, session: str) -> float:
        """One more line; the moment before it was written."""
        number = self.written[session] = self.written[session] + 1
        record = {
            "type": "user",
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number > 1 else None,
            "sessionId": session,
            "cwd": "/home/dev/work/watched",
            "version": "2.1.200",
            "timestamp": f"2026-11-01T10:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "message": {"role": "user", "content": f"line {number} of a session: {'word ' * 40}"},
        }
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        begun = time.perf_counter()
        with self._paths[session].open("ab") as out:
            out.write(line)
        return begun


def measure(bench: Bench, corpus: Corpus, store: Path, say: Callable[[str], None]) -> Watched:
    """``store`` has the corpus already, so that the watch begins at once."""
    say("watch")
    home = bench.scratch / "home-watched"
    logs, result = Logs(home, FILES), Watched()
    names = list(logs.written)
    with _watch(bench, store, corpus.home, home) as process, open_store(store) as eyes:
        _appended(eyes, logs, names)
        result.idle_cpu = _share_of_processor(process.pid, IDLE_S)
        for number in range(SINGLE):
            result.single += _appended(eyes, logs, [names[number % FILES]])
        for _ in range(ROUNDS):
            result.at_once += _appended(eyes, logs, names)
        result.early_rss = _rss(process.pid)
        while result.lines < LINES:
            result.lines += len(_appended(eyes, logs, names))
        result.late_rss = _rss(process.pid)
    return result


@contextmanager
def _watch(bench: Bench, store: Path, *roots: Path) -> Iterator["subprocess.Popen[str]"]:
    words = [word for root in roots for word in ("--root", str(root))]
    line = [sys.executable, "-m", "session_memory.cli", "watch", "--json", "--store", str(store)]
    process = subprocess.Popen(
        [*line, *words],
        stdout=(bench.scratch / "watch.out").open("w"),
        stderr=(bench.scratch / "watch.err").open("w"),
        env={**os.environ, "HOME": str(bench.home), "PYTHONPATH": str(CHECKOUT / "src")},
        text=True,
    )
    try:
        _await(lambda: '"synced"' in (bench.scratch / "watch.out").read_text(), "the first sync")
        yield process
    finally:
        process.terminate()
        if process.wait(timeout=LATE_S):
            raise Failed(f"watch ended badly: {(bench.scratch / 'watch.err').read_text()[-300:]}")


def _appended(eyes: Store, logs: Logs, names: Sequence[str]) -> list[float]:
    """Append a line to each of these at once, and wait until all have arrived."""
    began = {f"claude:{name}": logs.append(name) for name in names}
    expected = {f"claude:{name}": logs.written[name] for name in names}
    taken: list[float] = []
    until = time.perf_counter() + LATE_S
    while expected:
        now = time.perf_counter()
        if now > until:
            raise Failed(f"{len(expected)} lines did not arrive within {LATE_S:.0f} s")
        stored = dict(eyes.db.matching(_STORED, list(expected)))
        seen = time.perf_counter()
        for uid in [uid for uid, count in expected.items() if stored.get(uid, 0) >= count]:
            taken.append(seen - began[uid])
            del expected[uid]
        time.sleep(ASKED_EVERY_S)
    return taken


def _await(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LATE_S
    while not is_so():
        if time.monotonic() > until:
            raise Failed(f"watch: {what} takes longer than {LATE_S:.0f} s")
        time.sleep(0.05)


def _share_of_processor(pid: int, seconds: float) -> float:
    before, begun = _cpu(pid), time.monotonic()
    time.sleep(seconds)
    return (_cpu(pid) - before) / (time.monotonic() - begun)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def percentile(values: Sequence[float], share: int) -> float:
    return quantiles(values, n=100, method="inclusive")[share - 1]


def as_dict(watched: Watched) -> dict[str, Any]:
    return {
        "single_p50": percentile(watched.single, 50),
        "single_p99": percentile(watched.single, 99),
        "at_once_p50": percentile(watched.at_once, 50),
        "at_once_p99": percentile(watched.at_once, 99),
        "at_once_max": max(watched.at_once),
        "idle_cpu": watched.idle_cpu,
        "early_rss": watched.early_rss,
        "late_rss": watched.late_rss,
    }
