"""Hooks at 10,000 sessions: how long an agent waits for one, from its start to its end.

    python benchmarks/remember_hooks.py                 makes a store in a temporary directory
    python benchmarks/remember_hooks.py --keep DIR      makes it in DIR, or uses the one there
    python benchmarks/remember_hooks.py --times N       runs each hook N times; 100 without it

The store is that of remember_mcp.py. Each hook is started as an agent starts it. The median and the
99th percentile of the time are printed next to the budget, and the median of the processor time,
which does not depend on what else the machine does.
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
from pathlib import Path
from statistics import median
from typing import Any

from remember_mcp import SESSIONS, write_logs

from session_memory import Memory
from session_memory.testing.collecting import collect

BUDGET = 150
PROMPT = "zebra crossings need a frobnicator for the cart of the webshop"
KNOWN = "E   AttributeError: 'Cart' object has no attribute '{}'"


def failure(cwd: Path, error: str, number: int) -> dict[str, Any]:
    return {
        "session_id": f"bench-{number}",
        "cwd": str(cwd),
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest tests/test_cart_5.py"},
        "error": f"Exit code 1\nFAILED pytest tests/test_cart_5.py\n{error}\n1 failed",
    }


def passed(cwd: Path, number: int) -> dict[str, Any]:
    result = {"exit_code": 0, "output_for_prompt": "12 passed\n" * 200}
    given = failure(cwd, "", number)
    return {**given, "hook_event_name": "PostToolUse", "toolResult": result}


class Hooks:
    """Starts hooks and measures them."""

    def __init__(self, store: str, home: Path) -> None:
        program = shutil.which("session-memory", path=str(Path(sys.executable).parent))
        assert program is not None
        self._program = program
        self._environment = {**os.environ, "SESSION_MEMORY_STORE": store, "HOME": str(home)}

    def run(self, agent: str, event: str, given: dict[str, Any]) -> tuple[float, float, bytes]:
        """The time, the processor time, both in milliseconds, and what was printed."""
        data = json.dumps(given).encode()
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [self._program, "hook", agent, event],
            input=data,
            env=self._environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        spent = (time.perf_counter() - begun) * 1000
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent, own * 1000, done.stdout


def known_error(store: str) -> str:
    """An attribute that a session of the webshop resolved."""
    with Memory(store) as memory:
        row = memory.store.db.one(
            "select e.sample from error_fingerprints e join digests d"
            " on d.session_uid = e.session_uid where d.repo = 'webshop'"
            " and e.resolution = 'edit' order by e.session_uid"
        )
    assert row is not None
    return f"E   {row[0]}"


def measure(hooks: Hooks, store: str, cwd: Path, times: int) -> bool:
    known = known_error(store)
    cases = {
        "failure: the command passed": ("grok", "failure", lambda n: passed(cwd, n), False),
        "failure: an unknown error": (
            *("claude", "failure"),
            lambda n: failure(cwd, KNOWN.format("plugh"), n),
            False,
        ),
        "failure: an error with a fix": (
            *("claude", "failure"),
            lambda n: failure(cwd, known, n),
            True,
        ),
        "start": ("claude", "start", lambda n: {**failure(cwd, "", n), "source": "startup"}, True),
        "prompt": ("claude", "prompt", lambda n: {**failure(cwd, "", n), "prompt": PROMPT}, False),
        "end": ("gemini", "end", lambda n: passed(cwd, n), False),
    }
    print(f"{'milliseconds':<40}{'median':>8}{'p99':>8}{'budget':>8}{'CPU':>8}")
    is_within = True
    for name, (agent, event, given, has_answer) in cases.items():
        spent, own = [], []
        for number in range(times):
            took, busy, printed = hooks.run(agent, event, given(number))
            assert bool(printed) == has_answer, (name, printed)
            spent.append(took)
            own.append(busy)
        worst = sorted(spent)[max(int(len(spent) * 0.99) - 1, 0)]
        is_within &= worst <= BUDGET
        print(f"{name:<40}{median(spent):8.0f}{worst:8.0f}{BUDGET:8}{median(own):8.0f}", flush=True)
    return is_within


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the store is kept")
    parser.add_argument("--sessions", type=int, default=SESSIONS, metavar="N")
    parser.add_argument("--times", type=int, default=100, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = options.keep or Path(scratch)
        store = place / f"mcp-{options.sessions}.db"
        if not store.exists():
            place.mkdir(parents=True, exist_ok=True)
            write_logs(Path(scratch) / "home", options.sessions)
            with Memory(store, durability="normal") as memory:
                collect(memory.store, Path(scratch) / "home")
                memory.analyze()
        cwd = Path(scratch) / "webshop"
        (cwd / ".git").mkdir(parents=True)
        is_within = measure(Hooks(str(store), Path(scratch)), str(store), cwd, options.times)
    sys.exit(not is_within)


if __name__ == "__main__":
    main()
