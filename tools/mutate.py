"""Change one room's code in small ways and list the changes that no test notices.

    make mutate ROOM=pricing                                  its tests: tests/pricing
    make mutate ROOM="live/fork.py live/folds.py" TESTS=tests/live/test_live_fork.py MINUTES=60

Each change ("mutant") is one operator, number, condition, call or returned value of one module. The
tests run on each mutant, on SQLite only, until the first failure. A mutant on which a test fails is
killed. A mutant on which all tests pass has survived: it is printed with its line, and either a
test is missing or the line makes no difference.

Mutants are tried in a random order that is always the same, so that a run that MINUTES cuts short
has tried a fair sample. No file is changed: the mutated module exists in the memory of one process.
A program that a test starts therefore runs the unchanged code. This is no part of ``make test``.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import mutants
import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
KILLED, SURVIVED, TOO_LONG = "killed", "survived", "ran too long"


class Mutant(NamedTuple):
    module: str
    path: Path
    line: int
    change: str
    tree: ast.Module


class OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a tree instead of its file."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        place = self._mutant.path
        spec = importlib.machinery.ModuleSpec(name, self, origin=str(place))
        spec.has_location = True
        if place.name == "__init__.py":
            spec.submodule_search_locations = [str(place.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.tree, str(self._mutant.path), "exec"), module.__dict__)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="+", help="directories or modules below src/session_memory")
    parser.add_argument("--tests", nargs="*", help="directories or files of tests (tests/ROOM)")
    parser.add_argument("--minutes", type=float, default=20, help="stop after (%(default)s)")
    given = parser.parse_args()
    places = [SOURCE / "session_memory" / room for room in given.rooms]
    tests = given.tests or [f"tests/{room}" for room in given.rooms]
    missing = [path for path in (*places, *(ROOT / test for test in tests)) if not path.exists()]
    if missing:
        hint = "name a room below src/session_memory, and its tests with TESTS=…"
        print(f"error: there is no {missing[0].relative_to(ROOT)}\nhint: {hint}", file=sys.stderr)
        return 2
    os.nice(10)
    os.chdir(ROOT)
    found = [mutant for place in places for mutant in every_mutant(place)]
    return run(found, tests, given.minutes)


def run(found: list[Mutant], tests: list[str], minutes: float) -> int:
    random.Random(0).shuffle(found)
    started = time.monotonic()
    status = outcome_of(None, tests, 3600)
    if status != SURVIVED:
        print("error: the tests fail without any change", file=sys.stderr)
        return 1
    usual = time.monotonic() - started
    print(f"{len(found)} mutants; the tests take {usual:.1f} s", flush=True)
    counts: Counter[str] = Counter()
    for mutant in found:
        if time.monotonic() - started > minutes * 60:
            break
        outcome = outcome_of(mutant, tests, 5 * usual + 10)
        counts[outcome] += 1
        if outcome == SURVIVED:
            place = mutant.path.relative_to(ROOT)
            print(f"survived: {place}:{mutant.line}: {mutant.change}", flush=True)
    killed = counts[KILLED] + counts[TOO_LONG]
    print(
        f"{killed} killed ({counts[TOO_LONG]} ran too long), {counts[SURVIVED]} survived, "
        f"{len(found) - counts.total()} not tried, {(time.monotonic() - started) / 60:.1f} minutes"
    )
    return 0


def every_mutant(place: Path) -> Iterator[Mutant]:
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for line, change, tree in mutants.of(path.read_text()):
            yield Mutant(module, path, line, change, tree)


def outcome_of(mutant: Mutant | None, tests: list[str], seconds: float) -> str:
    """Run the tests in a fork of this process, which has imported pytest but nothing of ours."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        if mutant is not None:
            sys.meta_path.insert(0, OneModule(mutant))
        os.environ["SESSION_MEMORY_TEST_POSTGRES"] = "none"
        options = ["-x", "-q", "-p", "no:cacheprovider", "-k", "not postgresql"]
        os._exit(pytest.main([*options, *tests]))
    latest = time.monotonic() + seconds
    while time.monotonic() < latest:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return SURVIVED if status == 0 else KILLED
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return TOO_LONG


if __name__ == "__main__":
    sys.exit(main())
