"""What the tests let another process do. Run as a program: ``child.py TASK ARGUMENT…``.

Every task prints one JSON object when it is done; an error we raise on purpose is reported with
its hint and exit status 1, anything else is a traceback.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import session_memory.collect.batches as batches
import session_memory.collect.parallel_reading as parallel_reading
import session_memory.collect.sync as syncing
from session_memory.collect.discover import roots
from session_memory.collect.sync_report import SyncOutcome
from session_memory.config import Config
from session_memory.core.errors import SessionMemoryError
from session_memory.retain.verification import verify
from session_memory.store.store import Store, open_store
from session_memory.store.usage import BUCKETS

HOST = "here"


def collect(store: Store, root: str) -> SyncOutcome:
    config = Config()
    return syncing.sync(store, config, roots(config, (Path(root),)), host=HOST)


def sync(root: str, path: str) -> dict[str, Any]:
    with open_store(path) as store:
        outcome = collect(store, root)
    return _figures(outcome)


def sync_in_steps(root: str, path: str) -> dict[str, Any]:
    """As `sync`, with transactions of a twentieth of the size, for a twentieth of the logs."""
    batches.BATCH_BYTES //= 20
    batches.FIRST_LOAD_BYTES //= 20
    batches.FIRST_LOAD_TRANSACTION //= 20
    return sync(root, path)


def sync_in_small_steps(root: str, path: str) -> dict[str, Any]:
    """As `sync`, with many small transactions where a first load has few large ones."""
    batches.FIRST_LOAD_BYTES = 32 * 1024
    batches.FIRST_LOAD_TRANSACTION = 256 * 1024
    return sync(root, path)


def sync_with_workers(root: str, path: str) -> dict[str, Any]:
    """As `sync_in_steps`, with two processes that read every log."""
    syncing.BYTES_PER_WORKER = parallel_reading.BYTES_PER_WORKER = 0
    parallel_reading.SMALL_SOURCE = -1
    parallel_reading.default_jobs = lambda: 2
    return sync_in_steps(root, path)


def sync_in_tiny_steps(root: str, path: str) -> dict[str, Any]:
    """As `sync`, with a transaction for every few lines."""
    batches.FIRST_LOAD_BYTES = batches.FIRST_LOAD_TRANSACTION = 4096
    return sync(root, path)


def sync_and_check(root: str, *paths: str) -> dict[str, Any]:
    """One sync into each of these stores, and what they hold then."""
    prints, findings = [], []
    for path in paths:
        with open_store(path) as store:
            collect(store, root)
            findings += verify(store, sample=1).findings
            prints.append(store.fingerprint())
    return {"prints": prints, "findings": findings}


def sync_limited(root: str, path: str, largest_file: str) -> dict[str, Any]:
    """A sync that may write no file larger than so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest_file), int(largest_file)))
    return sync(root, path)


def sync_again_and_again(root: str, path: str, until: str) -> dict[str, Any]:
    """Sync until the file ``until`` appears, opening the store anew each time."""
    runs, ends = 0, False
    while not ends:
        ends = Path(until).exists()
        sync(root, path)
        runs += 1
        _ready(until)
    return {"runs": runs}


def read_again_and_again(root: str, path: str, until: str) -> dict[str, Any]:
    """Read everything, as a view does, until the file ``until`` appears."""
    runs, wrong = 0, []
    with open_store(path) as store:
        ends = False
        while not ends:
            ends = Path(until).exists()
            wrong += _contradictions(store)
            runs += 1
            _ready(until)
    return {"runs": runs, "wrong": wrong}


def _ready(until: str) -> None:
    """Tell whoever started us that we are at work."""
    Path(f"{until}-{os.getpid()}").touch()


def _contradictions(store: Store) -> list[str]:
    wrong = []
    with store.db.snapshot():
        for session in store.sessions.every():
            row = store.sessions.row(session.session_uid)
            if row is None:
                wrong.append(f"{session.session_uid} has no row")
                continue
            sums = dict(zip(BUCKETS, store.usage.sums(row.id), strict=True))
            if any(getattr(session.cost, name) != value for name, value in sums.items()):
                wrong.append(f"{session.session_uid}: cost is not the sum of its usage")
            events = store.events.of(row.id, session.session_uid)
            if len(events) != row.event_count:
                wrong.append(f"{session.session_uid}: {len(events)} of {row.event_count} events")
    return wrong


def wait_for_the_lock(path: str, until: str) -> dict[str, Any]:
    """What a live writer beside a sync meets: the longest wait for the right to write."""
    longest, count = 0.0, 0
    with open_store(path) as store:
        while not Path(until).exists():
            begun = time.perf_counter()
            with store.db.transaction():
                longest = max(longest, time.perf_counter() - begun)
            count += 1
            time.sleep(0.0005)
    return {"longest": longest, "count": count}


def _figures(outcome: SyncOutcome) -> dict[str, Any]:
    report = outcome.report
    return {
        "failed": report.failed,
        "problems": report.problems,
        "events": report.events,
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> int:
    """Where the kernel tells it, without what the parent held when it started us."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> int:
    return run(sys.argv[1:])


def run(words: list[str]) -> int:
    try:
        print(json.dumps(globals()[words[0]](*words[1:])))
    except SessionMemoryError as error:
        print(json.dumps({"kind": error.kind, "message": str(error), "hint": error.hint}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
