"""Run an agent once: start it, stop it if the scenario says so, and end all that it started."""

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from session_memory.conformance.isolation import end_all_in
from session_memory.conformance.scenario import INTERRUPT, KILL
from session_memory.conformance.talking import Talk

# Seconds that processes which the agent started may take to end after the agent has ended.
GRACE = 5.0
# Users stop an agent after they have seen a part of its answer, not at once.
_SEEN = 0.7
_SIGNALS = {INTERRUPT: signal.SIGINT, KILL: signal.SIGKILL}


@dataclass(frozen=True)
class Run:
    """How a run of an agent ended.

    `status` is the exit status, None if it took too long. `left` are the command lines of processes
    that were still there and were killed.
    """

    status: int | None
    seconds: float
    output: str
    left: list[str]


def run_agent(
    words: list[str],
    repo: Path,
    environment: dict[str, str],
    log: Path,
    seconds: float,
    *,
    stopped_by: str = "",
    hanging: threading.Event | None = None,
    talk: Talk | None = None,
    grace: float = GRACE,
) -> Run:
    """Run a program in a process group of its own.

    With `stopped_by`, the whole group gets that signal (Ctrl-C or a kill) when the model's stream
    hangs. With `talk`, the program gets prompts from its standard input while it works.
    """
    begun = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=repo,
            env=environment,
            stdin=subprocess.PIPE if talk else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            if stopped_by and hanging is not None:
                _stop(process, _SIGNALS[stopped_by], hanging, begun + seconds)
            if talk is not None:
                talk.hold(process, lambda: log.read_text(errors="replace"), begun + seconds)
            status = _wait(process, begun + seconds - time.monotonic())
            taken = time.monotonic() - begun
        except BaseException:
            # If the kit is stopped, the agent and all that it started are killed at once.
            grace = 0
            _kill(process)
            raise
        finally:
            left = end_all_in(Path(environment["HOME"]), grace)
    return Run(status, taken, log.read_text(errors="replace"), left)


def _stop(
    process: "subprocess.Popen[bytes]", number: int, hanging: threading.Event, until: float
) -> None:
    while time.monotonic() < until and process.poll() is None:
        if hanging.wait(0.1):
            time.sleep(_SEEN)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            return


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    try:
        return process.wait(max(seconds, 0.1))
    except subprocess.TimeoutExpired:
        _kill(process)
        return None


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
