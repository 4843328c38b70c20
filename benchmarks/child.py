"""What a measured process runs: one command line, and a note of what it cost.

    python child.py NOTE sync --root …      the command line of this checkout, in this process
    python child.py NOTE -- PROGRAM …       another program, and its children

With ``BENCH_HOLDS`` set, the note also has the longest holds of the store's write lock.

Bytes written can be asked only while a process lives, so it leaves the figures in the file NOTE
itself. Linux only; elsewhere the note says nothing and those figures are missing.
"""

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path


def main() -> None:
    note, *words = sys.argv[1:]
    holds: list[tuple[str, float, float]] = []
    try:
        if words[0] == "--":
            sys.exit(subprocess.call(words[1:]))
        sys.argv[1:] = words
        # Imported here so that the start of the command line is part of what is measured.
        from session_memory.cli import main as command_line  # noqa: PLC0415

        with noting_holds(holds) if os.environ.get("BENCH_HOLDS") else nullcontext():
            command_line()
    finally:
        with suppress(OSError):
            Path(note).write_text(json.dumps({**figures(), "holds": longest(holds)}))


def noting_holds(holds: list[tuple[str, float, float]]) -> AbstractContextManager[None]:
    from session_memory.store.lock_holds import listening  # noqa: PLC0415

    return listening(lambda hold: holds.append((hold.what, hold.wall, hold.cpu)))


def longest(holds: list[tuple[str, float, float]]) -> dict[str, float]:
    """The longest holds in seconds, by the clock and of CPU time, and the number of all."""
    return {
        "count": len(holds),
        "wall": max((wall for _, wall, _ in holds), default=0.0),
        "cpu": max((cpu for _, _, cpu in holds), default=0.0),
    }


def figures() -> dict[str, int]:
    """``written`` counts what went to disk, ``passed`` what was handed to the kernel to write.

    A process takes over the figures of the children it has waited for; its peak memory is its own.
    """
    io = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "written": int(io["write_bytes"]),
        "passed": int(io["wchar"]),
        "peak": int(status["VmHWM"].split()[0]) * 1024,
    }


if __name__ == "__main__":
    main()
