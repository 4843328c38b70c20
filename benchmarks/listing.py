"""Listing and opening: do they cost the same at 30,000 sessions as at 300?

    python benchmarks/listing.py                  makes both stores in a temporary directory
    python benchmarks/listing.py --keep DIR       makes them in DIR, or uses those that are there

Each store holds small invented Claude Code logs, every tenth session with two subagents. Every
question is asked several times of an open store, and the best time counts. The last column is the
large store against the small one; a ratio near 1 means that the size of the store does not matter.
"""

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from session_memory import open_store
from session_memory.store import Store
from session_memory.testing.collecting import collect
from session_memory.views.calls import with_subagents
from session_memory.views.lookup import find_session, short_names
from session_memory.views.sessions import Filter, list_sessions
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import TranscriptOptions

SIZES = (300, 30_000)
TIMES = 5
START = datetime(2026, 1, 1, tzinfo=UTC)
REPOS = ("webshop", "billing", "search", "mobile", "tools")


def write_logs(home: Path, sessions: int) -> None:
    """``sessions`` tiny logs below ``home``, the same for the same number."""
    random = Random(sessions)
    for number in range(sessions):
        native = str(uuid.UUID(int=random.getrandbits(128), version=4))
        repo = REPOS[number % len(REPOS)]
        folder = home / ".claude" / "projects" / f"-home-ada-{repo}"
        folder.mkdir(parents=True, exist_ok=True)
        moment = START + timedelta(minutes=7 * number)
        lines = list(_lines(native, repo, moment, f"Task {number}: repair the {repo} import"))
        (folder / f"{native}.jsonl").write_text("".join(lines))
        for child in range(2 if number % 10 == 0 else 0):
            below = folder / native / "subagents"
            below.mkdir(parents=True, exist_ok=True)
            agent = f"a{random.getrandbits(64):016x}"
            lines = list(_lines(native, repo, moment, f"Look at part {child}", agent))
            (below / f"agent-{agent}.jsonl").write_text("".join(lines))


def _lines(native: str, repo: str, moment: datetime, prompt: str, agent: str = "") -> Iterator[str]:
    common = {
        "sessionId": native,
        "cwd": f"/home/ada/{repo}",
        "version": "2.1.0",
        "gitBranch": "main",
        "isSidechain": bool(agent),
        **({"agentId": agent} if agent else {}),
    }
    first, second = f"{native[:24]}{agent[:8]:0>8}a", f"{native[:24]}{agent[:8]:0>8}b"
    yield _line(common, first, None, moment, "user", message={"role": "user", "content": prompt})
    answer = {
        "id": f"msg_{second}",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 1000},
    }
    later = moment + timedelta(seconds=30)
    yield _line(common, second, first, later, "assistant", requestId=second, message=answer)


def _line(
    common: dict[str, Any], own: str, parent: str | None, at: datetime, kind: str, **more: Any
) -> str:
    stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    record = {**common, "uuid": own, "parentUuid": parent, "timestamp": stamp, "type": kind}
    return f"{json.dumps({**record, **more})}\n"


def made(directory: Path, sessions: int) -> Path:
    """The store with so many sessions, made when it is not there yet."""
    place = directory / f"listing-{sessions}.db"
    if not place.exists():
        home = directory / f"home-{sessions}"
        write_logs(home, sessions)
        with open_store(place) as store:
            collect(store, home / ".claude")
    return place


def questions(store: Store) -> dict[str, Callable[[], object]]:
    parent = next(uid for uid in store.sessions.uids() if store.sessions.subagents(uid))
    native = parent.partition(":")[2]
    title = store.sessions.get(parent).title or ""  # type: ignore[union-attr]

    def show(text: str) -> int:
        uid = find_session(store, text)
        items = list(Transcript(store, TranscriptOptions()).items(uid))
        short_names(store, with_subagents(store, uid))
        return len(items)

    return {
        "sessions --limit 5": lambda: list_sessions(
            store, Filter(folded=True), limit=5, priced=True
        ),
        "sessions --limit 5 --all": lambda: list_sessions(store, Filter(), limit=5, priced=True),
        "sessions --limit 5 --repo": lambda: list_sessions(
            store, Filter(repo="billing", folded=True), limit=5, priced=True
        ),
        "sessions --limit 5 --since": lambda: list_sessions(
            store,
            Filter(since=int(START.timestamp() * 1000), folded=True),
            limit=5,
            priced=True,
        ),
        "show UID": lambda: show(parent),
        "show, beginning of an id": lambda: show(native[:8]),
        "show, a title": lambda: show(title),
    }


def best(question: Callable[[], object]) -> float:
    """The shortest of several times, in milliseconds."""
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        question()
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def measure(directory: Path) -> Iterator[tuple[str, list[float]]]:
    figures: dict[str, list[float]] = {}
    for sessions in SIZES:
        with open_store(made(directory, sessions)) as store:
            for name, question in questions(store).items():
                figures.setdefault(name, []).append(best(question))
    yield from figures.items()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the stores are kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="session-memory-listing-") as scratch:
        directory = options.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        print(f"{'question':<28} {SIZES[0]:>9,} {SIZES[1]:>9,} {'ratio':>7}")
        for name, (small, large) in measure(directory):
            print(f"{name:<28} {small:>6.1f} ms {large:>6.1f} ms {large / small:>6.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
