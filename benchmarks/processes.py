"""Runs one thing in a fresh process with a HOME of its own, and says what it cost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
CHILD = Path(__file__).resolve().parent / "child.py"
DONE = (0, 3)
"""Exit status of a command that did its work: 3 means that some input was bad."""


class Failed(Exception):
    """A measurement that could not be made; the message says why and what to do."""


@dataclass(frozen=True)
class Run:
    """What a process cost: seconds, bytes. ``written`` and ``passed`` only where Linux
    tells. ``holds`` is about the store's write lock, where that was asked for."""

    wall: float
    cpu: float
    peak: int
    written: int | None
    passed: int | None
    out: str
    holds: dict[str, float] | None = None

    @property
    def answer(self) -> Any:
        """What the command answered with ``--json``."""
        return json.loads(self.out)


class Bench:
    """A scratch directory, and processes that see nothing of this machine but what lies there."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.home = scratch / "empty-home"
        self.home.mkdir()
        self._count = 0

    def cli(
        self, *words: str | Path, ok: Sequence[int] = DONE, env: dict[str, str] | None = None
    ) -> Run:
        """The command line of this checkout."""
        note = self._file("note")
        run = self.program([sys.executable, CHILD, note, *words], ok=ok, env=env)
        return _with_note(run, note)

    def script(self, path: Path, *words: str | Path) -> Run:
        """A script of the same Python."""
        return self.program([sys.executable, path, *words])

    def other(self, command: Sequence[str | Path], env: dict[str, str], seconds: float) -> Run:
        """A program that is not ours, bounded in time; also how much it and its children wrote."""
        note = self._file("note")
        words = [sys.executable, CHILD, note, "--", *command]
        run = self.program(words, env=env, seconds=seconds)
        noted = _with_note(run, note)
        # The wrapper's own peak says nothing about the program it started.
        return Run(run.wall, run.cpu, run.peak, noted.written, noted.passed, run.out)

    def program(
        self,
        command: Sequence[str | Path],
        *,
        env: dict[str, str] | None = None,
        seconds: float = 3600,
        ok: Sequence[int] = DONE,
    ) -> Run:
        """Start it, wait for it, and take the account the kernel kept."""
        words = [str(word) for word in command]
        out, err = self._file("out"), self._file("err")
        # The disk may still be busy with what an earlier measurement wrote.
        os.sync()
        with out.open("wb") as stdout, err.open("wb") as stderr:
            started = time.perf_counter()
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=self.scratch,
                env=self.environment() | (env or {}),
                start_new_session=True,
            )
            # In a group of its own: one that takes too long ends together with its children.
            timer = Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            finally:
                timer.cancel()
            wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in ok:
            raise Failed(_why(words, process.returncode, seconds, err))
        unit = 1 if sys.platform == "darwin" else 1024
        return Run(
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak=usage.ru_maxrss * unit,
            written=None,
            passed=None,
            out=out.read_text(encoding="utf-8", errors="replace"),
        )

    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(CHECKOUT / "src"),
            "TMPDIR": str(self.scratch),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def new_path(self, name: str) -> Path:
        """Where nothing is yet."""
        return self._file(name)

    def _file(self, name: str) -> Path:
        self._count += 1
        return self.scratch / f"{self._count:04}.{name}"


def _with_note(run: Run, note: Path) -> Run:
    try:
        noted = json.loads(note.read_text())
    except (OSError, ValueError):
        return run
    figures = (noted["peak"], noted["written"], noted["passed"])
    return Run(run.wall, run.cpu, *figures, run.out, noted.get("holds"))


def _why(words: list[str], status: int, seconds: float, err: Path) -> str:
    what = " ".join(Path(word).name if "/" in word else word for word in words[1:6])
    if status == -signal.SIGKILL:
        return f"{what}: stopped after {seconds:.0f} s"
    said = err.read_text(errors="replace").strip().splitlines()[-4:]
    return f"{what}: exit status {status}: {' | '.join(said)}"
