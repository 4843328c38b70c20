"""Recall and learning on real sessions: one table, each row computed from labels made by reading.

    make recall                                       the development set of ../shared/samples
    python benchmarks/recall.py --misses fix          and what is wrong in one row
    python benchmarks/recall.py --logs HOME --labels DIR --store FILE   another set, kept in FILE

The logs are collected and analyzed in a store of their own. Then the questions of the label files
are asked, and the answers compared with the labels. Nothing is timed. A row without a label file is
left out.
"""

import argparse
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path

from recall_rows import ROWS, Figure, Labels

from session_memory import Memory, open_store
from session_memory.testing.collecting import collect

BESIDE = Path(__file__).resolve().parents[2] / "shared"
SAMPLES = Path(os.environ.get("SESSION_MEMORY_SHARED") or BESIDE) / "samples"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=Path, default=SAMPLES / "real.tar.xz", metavar="HOME")
    parser.add_argument("--labels", type=Path, default=SAMPLES / "real-labels", metavar="DIR")
    parser.add_argument("--store", type=Path, metavar="FILE", help="make it once, use it again")
    parser.add_argument("--only", action="append", choices=list(ROWS), help="only this row")
    parser.add_argument("--misses", action="append", choices=list(ROWS), default=[])
    parser.add_argument("--templates", type=Path, metavar="DIR", help="chat templates (from trl)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def prepared(logs: Path, store: Path, scratch: Path) -> Memory:
    """The store with every log in it, analyzed by the code as it is now."""
    if not store.exists():
        if logs.is_file():
            with tarfile.open(logs) as packed:
                packed.extractall(scratch, filter="data")
            logs = scratch
        with open_store(store, durability="normal") as made:
            collect(made, logs)
    memory = Memory(store)
    memory.analyze()
    return memory


def main() -> int:
    options = arguments()
    if not options.labels.is_dir():
        print(f"error: {options.labels} is no directory with labels", file=sys.stderr)
        return 2
    only = options.only or options.misses or list(ROWS)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as place:
        store = options.store or Path(place) / "recall.db"
        labels = Labels(options.labels, store, options.templates)
        with prepared(options.logs, store, Path(place)) as memory:
            for name in only:
                if labels.has(name):
                    figures += ROWS[name](memory, labels)
    if options.json:
        print(json.dumps([figure.to_dict() for figure in figures], ensure_ascii=False))
        return 0
    for figure in figures:
        print(f"{figure.name:<58}{figure.shown:>18}  goal {figure.goal}")
    for figure in figures:
        if figure.row in options.misses and figure.misses:
            print(f"\n== {figure.name}: what is wrong")
            print("\n".join(figure.misses))
    return 0


if __name__ == "__main__":
    sys.exit(main())
