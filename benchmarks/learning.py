"""Analysis: what it costs beside reading the events it looks at, and how much memory it takes.

    python benchmarks/learning.py events STORE     the floor: every event of every session, once
    python benchmarks/learning.py analyze STORE    all digests and signals, stored

Each prints the CPU of its own work and the memory it took at most. Give it a copy of a store.
"""

import json
import resource
import shutil
import sys
import time
from pathlib import Path

from measurements import Measurements, forget, say

from session_memory import open_store
from session_memory.learn.analyze import analyze as analyze_store

TIMES = 3


def measure(m: Measurements) -> None:
    """Into the figures of a run: the ratio, the memory, and what detectors got wrong."""
    say("analysis")
    ratios, peaks = [], []
    for _ in range(TIMES):
        store = m.bench.scratch / "learned.db"
        shutil.copy(m.store, store)
        floor = m.bench.script(Path(__file__), "events", store).answer
        ours = m.bench.script(Path(__file__), "analyze", store).answer
        ratios.append(ours["cpu_s"] / floor["cpu_s"])
        peaks.append(ours["peak_mb"])
        forget(store)
    m.figures["analyze_cpu"] = min(ratios)
    m.figures["analyze_mb"] = max(peaks)
    say("detectors")
    found = m.bench.script(Path(__file__).with_name("detecting.py"), "--json").answer
    m.figures["detect_wrong"] = sum(row["wrong"] + row["missed"] for row in found.values())


def events(where: str) -> None:
    with open_store(where, create=False) as store:
        for uid in store.sessions.uids():
            row = store.sessions.row(uid)
            if row is not None:
                store.events.of(row.id, uid)


def analyze(where: str) -> None:
    with open_store(where, create=False) as store:
        analyze_store(store)


def main() -> None:
    question, where = sys.argv[1:]
    work = {"events": events, "analyze": analyze}[question]
    started = time.process_time()
    work(where)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes, but on macOS bytes.
    megabytes = peak / (1024 if sys.platform != "darwin" else 1024 * 1024)
    print(json.dumps({"cpu_s": time.process_time() - started, "peak_mb": megabytes}))


if __name__ == "__main__":
    main()
