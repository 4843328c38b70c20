"""How long ``why`` of a line takes in a large repository.

    python benchmarks/why_speed.py
    python benchmarks/why_speed.py --files 10000 --sessions 1000 --keep DIR

A repository is made with `git fast-import`, and the logs of sessions that wrote a part of it. Some
files are changed by many commits and sessions. Then ``session-memory why FILE:LINE`` is started for
some lines, and its processor time is measured with that of git.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from session_memory import Memory
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call

START = 1_780_000_000
HOT, COMMITS_PER_SESSION, LINES = 10, 2, 120
WHO = "Mira <mira@example.invalid>"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--lines", type=int, default=20, help="how many lines are asked for")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    options = parser.parse_args()
    if options.keep is not None:
        _measure(options.keep.resolve(), options)
        return
    with tempfile.TemporaryDirectory(prefix="why-speed-") as directory:
        _measure(Path(directory), options)


def _measure(place: Path, options: argparse.Namespace) -> None:
    store = place / "memory.db"
    if not store.exists():
        LargeRepository(place, options).make()
        with Memory(store) as memory:
            memory.sync(roots=[place / "home"])
    chance = random.Random(options.seed + 1)
    hot = [f"src/hot_{number}.py" for number in range(HOT)]
    usual = [f"src/part_{n % 100}/file_{n}.py" for n in range(options.files - HOT)]
    root = place / "code" / "large"
    least = []
    for number in range(options.lines):
        path = chance.choice(hot if number % 2 else usual)
        line = chance.randrange(1, len((root / path).read_bytes().splitlines()) + 1)
        took = min(_seconds(store, root, f"{path}:{line}") for _ in range(options.runs))
        least.append(took)
        print(f"{took:.3f} s  {path}:{line}", flush=True)
    print(f"median {statistics.median(least):.3f} s, {min(least):.3f} to {max(least):.3f} s")


def _seconds(store: Path, root: Path, place: str) -> float:
    words = [sys.executable, "-m", "session_memory", "--store", str(store), "why", place]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=root, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class LargeRepository:
    def __init__(self, place: Path, options: argparse.Namespace) -> None:
        self._root, self._sessions, self._count = (
            place / "code" / "large",
            options.sessions,
            options.files,
        )
        self._chance = random.Random(options.seed)
        self._agents = ClaudeHome(place / "home", cwd=str(self._root))
        self._files: dict[str, list[str]] = {}
        self._now, self._mark = START, 0

    def make(self) -> None:
        self._root.mkdir(parents=True)
        self._git("init", "-q", "-b", "main")
        with subprocess.Popen(
            ["git", "fast-import", "--quiet"], cwd=self._root, stdin=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            for part in self._history():
                process.stdin.write(part)
        self._git("checkout", "-q", "-f", "main")
        self._agents.write()

    def _history(self) -> Iterator[bytes]:
        names = [f"src/hot_{number}.py" for number in range(HOT)]
        names += [f"src/part_{n % 100}/file_{n}.py" for n in range(self._count - HOT)]
        self._files = {name: self._code(LINES // 5) for name in names}
        yield self._commit("Begin", names)
        for number in range(self._sessions):
            log = self._agents.session(f"session-{number}")
            for _ in range(COMMITS_PER_SESSION):
                self._now += 600
                log.clock.ms = self._now * 1000
                log.prompt(f"improve part {self._chance.randrange(100)} of session {number}")
                chosen = [self._chance.choice(names[:HOT]), *self._chance.choices(names, k=3)]
                for name in dict.fromkeys(chosen):
                    self._edit(log, name)
                log.answer("Done.")
                self._now += 60
                yield self._commit(f"Work of session {number}", dict.fromkeys(chosen))

    def _edit(self, log: ClaudeLog, name: str) -> None:
        lines = self._files[name]
        place = self._chance.randrange(0, len(lines) - 1)
        old, new = lines[place : place + 2], [lines[place], *self._code(1)[:3]]
        if "\n".join(lines).count("\n".join(old)) != 1:
            return
        lines[place : place + 2] = new
        given = {"old_string": "\n".join(old), "new_string": "\n".join(new)}
        log.answer(call("Edit", file_path=str(self._root / name), **given))
        log.result("edited")

    def _code(self, functions: int) -> list[str]:
        lines = []
        for _ in range(functions):
            tag = self._chance.randrange(1 << 30)
            lines += [f"def load_{tag}(order):", f"    value = order.get('{tag}')"]
            lines += ["    if not value:", "        return None", f"    return join(value, {tag})"]
        return lines

    def _commit(self, subject: str, names: Iterable[str]) -> bytes:
        self._mark += 1
        parts = [f"commit refs/heads/main\nmark :{self._mark}\n"]
        parts.append(f"committer {WHO} {self._now} +0000\ndata {len(subject)}\n{subject}\n")
        for name in names:
            text = "".join(f"{line}\n" for line in self._files[name])
            parts.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
        return "".join(parts).encode()

    def _git(self, *words: str) -> None:
        own = {"PATH": os.environ["PATH"], "HOME": str(self._root.parent)}
        subprocess.run(["git", *words], cwd=self._root, env=own, check=True)


if __name__ == "__main__":
    main()
