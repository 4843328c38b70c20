"""Change one room's code in small ways and list the changes that no test notices.

    make mutate ROOM=pricing                                  its tests: tests/pricing
    make mutate ROOM="live/fork.py live/folds.py" TESTS="tests/live tests/memory" MINUTES=60

Each change ("mutant") is one operator, number, condition, call or returned value of one module. A
mutant on which a test fails is killed. A mutant on which all tests pass has survived: it is printed
with its line, and either a test is missing or the line makes no difference.

1. All tests run once on the unchanged code, on SQLite only. This notes which test reaches which
   line and how long each test takes.
2. Each mutant is tried with the tests that reach its line, the quickest of each file first, until
   one fails or SECONDS of tests have run. So TESTS may be many tests, and most mutants still take
   less than a second. A survivor of few SECONDS may be killed by a slower test.

To look again at survivors, with new tests or more SECONDS, keep the output: ``AGAIN=FILE`` tries
only the survivors in it. ``REACHED=FILE`` keeps step 1, and only new tests are run in it next time.

Mutants are tried in a random order that is always the same, so that a run that MINUTES cuts short
has tried a fair sample. No file is changed: the mutated code exists in the memory of one process.
A program that a test starts therefore runs the unchanged code. This is no part of ``make test``.
"""

import argparse
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import mutant_runs
from mutant_runs import KILLED, ROOT, SURVIVED, TOO_LONG, UNREACHED, Mutant, Outcomes

SOURCE = ROOT / "src" / "session_memory"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="+", help="directories or modules below src/session_memory")
    parser.add_argument("--tests", nargs="*", help="directories or files of tests (tests/ROOM)")
    parser.add_argument("--minutes", type=float, default=20, help="stop after (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=20, help="of tests on one mutant (%(default)s)"
    )
    parser.add_argument("--again", type=Path, help="only the survivors in this earlier output")
    parser.add_argument("--reached", type=Path, help="keep here which test reaches which line")
    given = parser.parse_args()
    places = [SOURCE / room for room in given.rooms]
    tests = given.tests or [f"tests/{room}" for room in given.rooms]
    missing = [path for path in (*places, *(ROOT / test for test in tests)) if not path.exists()]
    if missing:
        hint = "name a room below src/session_memory, and its tests with TESTS=…"
        print(f"error: there is no {missing[0].relative_to(ROOT)}\nhint: {hint}", file=sys.stderr)
        return 2
    reached = given.reached and given.reached.absolute()
    os.nice(10)
    os.chdir(ROOT)
    found = [mutant for place in places for mutant in mutant_runs.every_mutant(place)]
    if given.again:
        printed = given.again.read_text().splitlines()
        earlier = {line.partition(": ")[2] for line in printed}
        found = [mutant for mutant in found if str(mutant) in earlier]
    random.Random(0).shuffle(found)
    print(f"{len(found)} mutants", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
        limits = mutant_runs.Limits(minutes=given.minutes, seconds=given.seconds)
        outcomes = mutant_runs.try_all(found, tests, limits, Path(directory), reached)
    if outcomes is None:
        print("error: the tests fail without any change", file=sys.stderr)
        return 1
    _report(found, outcomes)
    return 0


def _report(found: list[Mutant], outcomes: Outcomes) -> None:
    by_module: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number, mutant in enumerate(found):
        name = mutant.path.relative_to(SOURCE).as_posix()
        by_module[name][outcomes.get(number, "not tried")] += 1
    columns = (KILLED, TOO_LONG, SURVIVED, UNREACHED, "not tried")
    print(f"{'':40} {'mutants':>12}", *(f"{column:>12}" for column in columns))
    for name, counts in [*sorted(by_module.items()), ("all", sum(by_module.values(), Counter()))]:
        figures = [counts.total(), *(counts[column] for column in columns)]
        print(f"{name:40}", *(f"{figure:12}" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
