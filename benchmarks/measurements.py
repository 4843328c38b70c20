"""What is measured, in the order in which it is measured."""

import re
import shutil
import sys
from filecmp import cmp
from pathlib import Path
from statistics import median

import agentsview
import cost
import watching
from corpus import PROJECTS, Corpus, OneLog, shared
from processes import Bench, Failed, Run

PROBES = Path(__file__).resolve().parent / "probes.py"
FLOORS = ("msgspec", "lines")


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


class Measurements:
    """Figures by name, and the runs behind them."""

    def __init__(self, bench: Bench, corpus: Corpus) -> None:
        self.bench = bench
        self.corpus = corpus
        self.floors: dict[str, list[float]] = {name: [] for name in FLOORS}
        self.runs: dict[str, list[Run]] = {}
        self.figures: dict[str, float] = {}
        self.store = bench.scratch / "memory.db"
        self.peak = 0
        self.watched: watching.Watched | None = None
        self.live: list[str] = []
        self.cost: list[str] = []

    def timed(self, name: str, *words: str | Path) -> Run:
        if name not in self.runs:
            say(name)
        run = self.bench.cli(*words)
        self.runs.setdefault(name, []).append(run)
        return run

    def sync(self, name: str, store: str | Path, *roots: Path) -> Run:
        options = [word for root in roots for word in ("--root", root)]
        run = self.timed(name, "sync", *options, "--store", store, "--json")
        self.peak = max(self.peak, run.peak)
        return run

    def take_floors(self) -> None:
        """The CPU that the floor's own loop took: no start of Python in it."""
        for name in FLOORS:
            run = self.bench.script(shared() / "bench" / "floors.py", name, self.corpus.home)
            found = re.search(r"cpu ([\d.]+)", run.out)
            if found is None:
                raise Failed(f"floors.py {name} said: {run.out.strip()}")
            self.floors[name].append(float(found[1]))

    def floor(self, name: str) -> float:
        return median(self.floors[name])


# ---------------------------------------------------------------- what is measured, in order


def measure_real_logs(m: Measurements) -> None:
    """Also warms up: byte code is compiled once, before anything is timed."""
    logs = shared() / "samples" / "public" / "claude"
    m.bench.cli("--help")
    store = m.bench.scratch / "real.db"
    run = m.sync("real logs, sync", store, logs)
    m.figures["real_bytes"] = run.answer["bytes"]
    m.figures["size_real"] = on_disk(store) / run.answer["bytes"]


def measure_first_sync(m: Measurements, times: int) -> None:
    m.take_floors()
    for _ in range(times):
        forget(m.store)
        m.sync("first sync", m.store, m.corpus.home)
        m.take_floors()
    runs = m.runs["first sync"]
    m.figures["sync_seconds"] = min(run.wall for run in runs)
    m.figures["sync_cpu_seconds"] = min(run.cpu for run in runs)
    m.figures["sync_cpu"] = m.figures["sync_cpu_seconds"] / m.floor("msgspec")
    m.figures["sync_cpu_lines"] = m.figures["sync_cpu_seconds"] / m.floor("lines")
    m.figures["events"] = runs[-1].answer["events"]
    m.figures["sessions"] = runs[-1].answer["sessions"]
    m.figures["size"] = on_disk(m.store) / m.corpus.bytes
    m.figures |= bytes_written(runs, m.corpus.bytes)


def measure_repeats(m: Measurements) -> None:
    for _ in range(5):
        m.sync("nothing new", m.store, m.corpus.home)
    m.figures["nothing_new"] = median_wall(m.runs["nothing new"])
    for _ in range(10):
        m.timed("--help", "--help")
    m.figures["help_ms"] = median_wall(m.runs["--help"]) * 1000


def measure_one_line(m: Measurements, log: OneLog, name: str) -> float:
    """Appended to a log beside the whole corpus: the other files are looked at, too."""
    store = m.bench.scratch / f"with-{name.replace(' ', '-')}.db"
    shutil.copy(m.store, store)
    m.sync(f"{name} log, sync", store, m.corpus.home, log.home)
    for _ in range(5):
        log.append_a_line()
        run = m.sync(f"one line, {name}", store, m.corpus.home, log.home)
        if run.answer["events"] != 1:
            raise Failed(f"one line gave {run.answer['events']} events")
    forget(store)
    return median_wall(m.runs[f"one line, {name}"])


def measure_truth(m: Measurements) -> None:
    say("tokens per day and model")
    found = m.bench.script(PROBES, "tokens", m.store).answer
    truth = m.corpus.truth["usage_by_day_model"]
    wrong = [day for day in found.keys() | truth.keys() if found.get(day) != truth.get(day)]
    m.figures["tokens_wrong"] = len(wrong)
    m.figures["tokens_days"] = len(truth)


def measure_cost(m: Measurements) -> None:
    say("the cost report")
    found = cost.measure(m.bench, m.corpus.home, m.store)
    m.figures |= found.figures
    m.runs |= {name: runs for name, runs in found.runs.items() if name != "ccusage"}
    m.cost = cost.report(found)


def measure_payload(m: Measurements) -> None:
    say("payloads")
    seconds = m.bench.script(PROBES, "payload", m.store, "400").answer
    m.figures["payload_ms"] = median(seconds) * 1000
    m.figures["payload_worst_ms"] = max(seconds) * 1000


def measure_watch(m: Measurements) -> None:
    store = m.bench.scratch / "watched.db"
    shutil.copy(m.store, store)
    m.watched = watching.measure(m.bench, m.corpus, store, say)
    m.figures["watch_one"] = watching.percentile(m.watched.single, 99)
    m.figures["watch_many"] = watching.percentile(m.watched.at_once, 99)
    m.figures["watch_idle"] = m.watched.idle_cpu * 100
    m.figures["watch_growth"] = m.watched.late_rss / m.watched.early_rss
    forget(store)


def measure_care(m: Measurements) -> None:
    """What looks after the store, on the store of the first sync."""
    options = ("--store", m.store, "--json")
    before = m.timed("fingerprint", "fingerprint", *options).answer["fingerprint"]
    if not m.timed("verify", "verify", *options).answer["ok"]:
        raise Failed("verify found something wrong")
    target = m.bench.scratch / "restored"
    m.timed("restore-native --all", "restore-native", "--all", "--to", target, *options)
    m.figures["restored_wrong"] = differing(m.corpus.home / PROJECTS, target / PROJECTS)
    shutil.rmtree(target)
    m.timed("rebuild", "rebuild", *options)
    after = m.timed("fingerprint", "fingerprint", *options).answer["fingerprint"]
    m.figures["rebuild_differs"] = int(before != after)


def measure_agentsview(m: Measurements, log: OneLog) -> agentsview.Peer:
    peer = agentsview.measure(m.bench, m.corpus, log, say)
    if first := peer.runs.get("first sync"):
        m.figures["sync_wall"] = m.figures["sync_seconds"] / first.wall
    return peer


# ---------------------------------------------------------------- small questions


def on_disk(store: Path) -> int:
    files = (store, store.with_name(f"{store.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def forget(store: Path) -> None:
    for file in store.parent.glob(f"{store.name}*"):
        file.unlink()


def bytes_written(runs: list[Run], size: int) -> dict[str, float]:
    """Shares of ``size``: what went to disk, and what was handed to the kernel.

    On a file system in memory nothing goes to disk; there the second stands for the first.
    """
    to_disk = [run.written for run in runs if run.written]
    to_kernel = [run.passed for run in runs if run.passed]
    if not to_kernel:
        return {}
    return {"written": median(to_disk or to_kernel) / size, "passed": median(to_kernel) / size}


def median_wall(runs: list[Run]) -> float:
    return median(run.wall for run in runs)


def differing(one: Path, other: Path) -> int:
    """How many files below ``one`` are not the same, byte for byte, below ``other``."""
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    return sum(
        not (other / path).is_file() or not cmp(one / path, other / path, shallow=False)
        for path in files
    )
