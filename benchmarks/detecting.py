"""How well the detectors find what was planted: precision and recall of each.

    python benchmarks/detecting.py [--sessions 1000] [--seed 1] [--json]

Sessions with known truth are generated, collected, analyzed, and their signals compared with what
was planted. Nothing is timed.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from session_memory.learn.analyze import analyze
from session_memory.learn.detect import detectors
from session_memory.learn.fleet import fleet_of
from session_memory.learn.patterns import signals_of
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import collected
from session_memory.testing.planted import Truth, plant

Figures = dict[str, dict[str, float | int]]


def found_in(home: ClaudeHome) -> Truth:
    """The types of the signals of each session."""
    with collected(home.write()) as store:
        analyze(store)
        found: Truth = {uid: set() for uid in store.sessions.uids()}
        for signal in signals_of(store, fleet_of(store)):
            found[signal.session_uid].add(signal.type)
    return found


def compared(truth: Truth, found: Truth) -> Figures:
    """By detector: how often it was right, wrong, and missed something."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for uid, expected in truth.items():
        right.update(expected & found[uid])
        wrong.update(found[uid] - expected)
        missed.update(expected - found[uid])
    names = list(detectors())
    return {name: _figures(right[name], wrong[name], missed[name]) for name in names}


def _figures(right: int, wrong: int, missed: int) -> dict[str, float | int]:
    return {
        "planted": right + missed,
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "precision": round(right / (right + wrong), 4) if right + wrong else 1.0,
        "recall": round(right / (right + missed), 4) if right + missed else 1.0,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sessions", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = ClaudeHome(Path(place))
        truth = plant(home, sessions=given.sessions, seed=given.seed)
        figures = compared(truth, found_in(home))
    if given.json:
        print(json.dumps(figures))
        return 0
    print(f"{'detector':<24} planted  wrong  missed  precision  recall")
    for name, row in figures.items():
        counts = f"{row['planted']:>8}{row['wrong']:>7}{row['missed']:>8}"
        print(f"{name:<24}{counts}{row['precision']:>11.1%}{row['recall']:>8.1%}")
    return int(any(row["wrong"] or row["missed"] for row in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
