"""Runs tests on mutants for ``mutate.py``.

Most mutants change the body of a function. For them one process imports everything and collects the
tests once. Each mutant gets a fork of that process, in which the function has the changed code. The
others change what runs on import. They get a process that imports the changed module.
"""

import ast
import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import marshal
import os
import shutil
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import mutants
import pytest

ROOT = Path(__file__).parent.parent
KILLED, SURVIVED, TOO_LONG, UNREACHED = "killed", "survived", "too long", "unreached"
NOT_SWAPPED = "not swapped"
_STATUS = {0: SURVIVED, 1: KILLED, 3: NOT_SWAPPED}

Outcomes = dict[int, str]
Lines = set[tuple[str, int]]
Measured = dict[str, tuple[float, list[tuple[str, int]]]]
"""For each test its seconds and the lines that it reaches."""


class Mutant(NamedTuple):
    module: str
    path: Path
    line: int
    change: str
    code: bytes
    runs_on_import: bool

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.change}"


class Limits(NamedTuple):
    """``seconds``: how long the tests on one mutant may take. ``minutes``: how long all may."""

    minutes: float
    seconds: float


def every_mutant(place: Path) -> Iterator[Mutant]:
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        source = path.read_text()
        original = _compiled(ast.parse(source), path)
        for line, change, tree in mutants.of(source):
            code = _compiled(tree, path)
            on_import = _on_import(code) != _on_import(original)
            yield Mutant(module, path, line, change, marshal.dumps(code), on_import)


def try_all(
    found: list[Mutant], tests: list[str], limits: Limits, directory: Path, reached: Path | None
) -> Outcomes | None:
    """The outcome of each mutant that was tried; None if a test fails on the unchanged code.

    ``reached`` is a file with which lines each test reaches. It is written, and read next time.
    """
    ends = time.monotonic() + limits.minutes * 60
    answer = directory / "answer.json"
    pid = os.fork()
    if pid == 0:
        plugin = Loop(found, limits.seconds, ends, answer, reached or directory / "reached.json")
        pytest.main([*_options(directory), *tests], plugins=[plugin])
        os._exit(0)
    os.waitpid(pid, 0)
    if not answer.exists():
        return None
    given = json.loads(answer.read_text())
    outcomes = {int(number): outcome for number, outcome in given["outcomes"].items()}
    for number, chosen in given["left"]:
        if time.monotonic() > ends:
            break
        usual = chosen["seconds"]
        outcomes[number] = _imported(found[number], chosen["tests"], 5 * usual + 20, directory)
        _show(found[number], outcomes[number])
    return outcomes


class Loop:
    """A pytest plugin that replaces the run of the collected tests by one run on each mutant."""

    def __init__(
        self, found: list[Mutant], seconds: float, ends: float, answer: Path, reached: Path
    ) -> None:
        self._found = found
        self._reached = reached
        self._seconds = seconds
        self._ends = ends
        self._answer = answer
        self._kills: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True
        for mutant in self._found:
            importlib.import_module(mutant.module)
        reached = self._measure(session)
        if reached is None:
            return True
        print(f"{len(session.items)} tests take {reached.total():.0f} s", flush=True)
        items = {item.nodeid: item for item in session.items}
        functions = _functions_by_file()
        gc.freeze()
        outcomes: Outcomes = {}
        left = []
        for number, mutant in enumerate(self._found):
            if time.monotonic() > self._ends:
                break
            if number and number % 50 == 0:
                print(f"{number} mutants were tried", flush=True)
            chosen = reached.quickest(mutant, self._seconds, self._kills)
            seconds = sum(reached.seconds[name] for name in chosen)
            outcome = UNREACHED
            if chosen and not mutant.runs_on_import:
                selected = [items[name] for name in chosen]
                swap = _Swap(mutant, functions[str(mutant.path)])
                outcome = self._run(session, selected, swap, 5 * seconds + 10)
            if chosen and (mutant.runs_on_import or outcome == NOT_SWAPPED):
                left.append((number, {"tests": chosen, "seconds": seconds}))
                continue
            outcomes[number] = outcome
            _show(mutant, outcome)
        self._answer.write_text(json.dumps({"outcomes": outcomes, "left": left}))
        return True

    def _run(
        self, session: pytest.Session, items: list[pytest.Item], swap: "_Swap", seconds: float
    ) -> str:
        reading, writing = os.pipe()
        pid = _fork()
        if pid == 0:
            if not swap.done():
                os._exit(3)
            _be_quiet(session)
            for item in _run_each(items):
                if session.testsfailed:
                    os.write(writing, item.nodeid.encode())
                    os._exit(1)
            os._exit(0)
        os.close(writing)
        outcome = _outcome(pid, seconds)
        if outcome == KILLED:
            # Empty if the process died. A child of it may still hold the pipe open, so the read
            # must not wait.
            os.set_blocking(reading, False)
            with contextlib.suppress(BlockingIOError):
                self._kills[os.read(reading, 10_000).decode()] += 1
        os.close(reading)
        _empty(session)
        return outcome

    def _measure(self, session: pytest.Session) -> "Reached | None":
        """Run the tests that were not measured on this code yet."""
        digests = {str(one.path): sha256(one.path.read_bytes()).hexdigest() for one in self._found}
        known = _measured_before(self._reached, digests)
        items = [item for item in session.items if item.nodeid not in known]
        pid = _fork()
        if pid == 0:
            _be_quiet(session)
            tracer = Tracer(set(digests))
            session.config.pluginmanager.register(tracer)
            for item in _run_each(items):
                tracer.end_of(item)
                if session.testsfailed:
                    print(f"{item.nodeid} fails", file=sys.__stderr__, flush=True)
                    os._exit(1)
            measured = known | tracer.measured
            self._reached.write_text(json.dumps({"files": digests, "tests": measured}))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        _empty(session)
        if status != 0:
            return None
        measured = _measured_before(self._reached, digests)
        return Reached({item.nodeid: measured[item.nodeid] for item in session.items})


class Tracer:
    """A pytest plugin that notes which lines each test reaches, its fixtures included."""

    def __init__(self, files: set[str]) -> None:
        self._files = files
        self._lines: Lines = set()
        # A fixture that several tests share runs once. Its lines are reached by each of them.
        self._shared: defaultdict[str, Lines] = defaultdict(set)
        self._started = time.monotonic()
        self.measured: Measured = {}
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        return self._trace_line if frame.f_code.co_filename in self._files else None

    def _trace_line(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace_line

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        before = self._lines
        self._lines = set()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared[fixturedef.argname] |= self._lines
            self._lines |= before

    def end_of(self, item: pytest.Item) -> None:
        for name in getattr(item, "fixturenames", ()):
            self._lines |= self._shared[name]
        now = time.monotonic()
        self.measured[item.nodeid] = now - self._started, sorted(self._lines)
        self._lines = set()
        self._started = now


class Reached:
    """Which tests reach a line, and how long each test takes."""

    def __init__(self, measured: Measured) -> None:
        self.seconds = {name: seconds for name, (seconds, _) in measured.items()}
        self._by_file: defaultdict[str, set[str]] = defaultdict(set)
        self._by_statement: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._starts: dict[str, dict[int, int]] = {}
        for name, (_, lines) in measured.items():
            for path, line in lines:
                self._by_file[path].add(name)
                self._by_statement[path, self._start(path, line)].add(name)

    def total(self) -> float:
        return sum(self.seconds.values())

    def quickest(self, mutant: Mutant, seconds: float, kills: Counter[str]) -> list[str]:
        """Tests that reach a mutant and fit into ``seconds``; those that kill often are first.

        Tests of one file are alike, so the quickest of each file come before the second quickest.
        """
        path = str(mutant.path)
        names = self._by_statement[path, self._start(path, mutant.line)]
        if mutant.runs_on_import:
            names = self._by_file[path]
        seen: Counter[str] = Counter()
        rank: dict[str, float] = {}
        for name in sorted(names, key=lambda name: self.seconds[name]):
            file = name.partition("::")[0]
            seen[file] += 1
            rank[name] = seen[file] / (1 + kills[name])
        ordered = sorted(rank, key=lambda name: (rank[name], self.seconds[name]))
        chosen: list[str] = []
        for name in ordered:
            if self.seconds[name] <= seconds or not chosen:
                seconds -= self.seconds[name]
                chosen.append(name)
        return chosen

    def _start(self, path: str, line: int) -> int:
        if path not in self._starts:
            self._starts[path] = _statement_starts(Path(path).read_text())
        return self._starts[path].get(line, line)


class _Swap:
    """Gives the functions of a module the code that they have in a mutant.

    `done` is false if no function got other code. Then the mutant must be imported.
    """

    def __init__(self, mutant: Mutant, functions: list[FunctionType]) -> None:
        self._mutant = mutant
        self._functions = functions

    def done(self) -> bool:
        changed: defaultdict[tuple[str, int], list[CodeType]] = defaultdict(list)
        for code in _inner_codes(marshal.loads(self._mutant.code)):
            changed[code.co_qualname, code.co_firstlineno].append(code)
        is_changed = False
        for function in self._functions:
            old = function.__code__
            codes = changed[old.co_qualname, old.co_firstlineno]
            if len(codes) != 1 or codes[0].co_freevars != old.co_freevars:
                return False
            is_changed |= codes[0] != old
            function.__code__ = codes[0]
        return is_changed


class _OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a mutant instead of its file."""

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
        exec(marshal.loads(self._mutant.code), module.__dict__)


def _imported(mutant: Mutant, tests: list[str], seconds: float, directory: Path) -> str:
    """Run tests in a fork of this process, which has imported pytest but nothing of ours."""
    pid = _fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.meta_path.insert(0, _OneModule(mutant))
        os._exit(min(pytest.main([*_options(directory), "-x", *tests]), 1))
    return _outcome(pid, seconds)


def _measured_before(place: Path, digests: dict[str, str]) -> Measured:
    """What a file holds about tests; empty unless it is about the code as it is now."""
    if not place.exists():
        return {}
    given = json.loads(place.read_text())
    return given["tests"] if given["files"].items() >= digests.items() else {}


def _options(directory: Path) -> list[str]:
    os.environ["SESSION_MEMORY_TEST_POSTGRES"] = "none"
    place = f"--basetemp={directory / 'tests'}"
    return ["-q", "-p", "no:cacheprovider", place, "-k", "not postgresql"]


def _fork() -> int:
    pid = os.fork()
    if pid == 0:
        os.setsid()
    return pid


def _outcome(pid: int, seconds: float) -> str:
    latest = time.monotonic() + seconds
    while time.monotonic() < latest:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return _STATUS.get(os.waitstatus_to_exitcode(status), KILLED)
        time.sleep(0.005)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return TOO_LONG


def _be_quiet(session: pytest.Session) -> None:
    session.config.pluginmanager.unregister(name="terminalreporter")


def _run_each(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    for item, following in zip_longest(items, items[1:]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield item


def _empty(session: pytest.Session) -> None:
    """Delete what the tests of a fork have left in their temporary directory."""
    place = Path(session.config.option.basetemp)
    shutil.rmtree(place, ignore_errors=True)


def _show(mutant: Mutant, outcome: str) -> None:
    if outcome in (SURVIVED, UNREACHED):
        print(f"{outcome}: {mutant}", flush=True)


def _compiled(tree: ast.Module, path: Path) -> CodeType:
    return compile(tree, str(path), "exec", dont_inherit=True)


def _on_import(code: CodeType) -> list[object]:
    """What a module runs when it is imported: everything but the bodies of its functions."""
    parts: list[object] = [code.co_code]
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            parts.append((type(constant), constant))
        elif not constant.co_flags & inspect.CO_OPTIMIZED:
            parts.append(_on_import(constant))
        elif constant.co_name.startswith("<") and constant.co_name != "<lambda>":
            parts.append(constant)
    return parts


def _inner_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner_codes(constant)


def _functions_by_file() -> defaultdict[str, list[FunctionType]]:
    found: defaultdict[str, list[FunctionType]] = defaultdict(list)
    # The tests freeze what is imported, and frozen objects are not listed.
    gc.unfreeze()
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            found[thing.__code__.co_filename].append(thing)
    return found


def _statement_starts(source: str) -> dict[int, int]:
    """For each line of a statement its first line: a test that reaches one reaches the others."""
    starts: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        last = node.end_lineno or node.lineno
        if body:
            inner = body[0]
            first = inner.pattern.lineno if isinstance(inner, ast.match_case) else inner.lineno
            last = max(node.lineno, first - 1)
        starts |= dict.fromkeys(range(node.lineno, last + 1), node.lineno)
    return starts
