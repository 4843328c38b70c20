"""What a measured process runs: one command line, and a note of what it cost.

    python child.py NOTE sync --root …      the command line of this checkout, in this process
    python child.py NOTE -- PROGRAM …       another program, and its children

With ``BENCH_HOLDS`` set, the note also has the longest holds of the store's write lock.

Bytes written can be asked only while a process lives, so it leaves the figures in the file NOTE
itself, at its end. Linux only; elsewhere the note says nothing and those figures are missing.

The command line starts and ends as the installed program does. What only the note needs is loaded
after it.
"""

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Holds = list[tuple[str, float, float]]


def main() -> None:
    note, *words = sys.argv[1:]
    holds: Holds = []
    atexit.register(leave_note, note, holds)
    if words[0] == "--":
        import subprocess  # noqa: PLC0415

        sys.exit(subprocess.call(words[1:]))
    sys.argv[1:] = words
    # Imported here so that the start of the command line is part of what is measured.
    from session_memory.start import main as program  # noqa: PLC0415

    if os.environ.get("BENCH_HOLDS"):
        with noting_holds(holds):
            program()
    else:
        program()


def leave_note(note: str, holds: Holds) -> None:
    import json  # noqa: PLC0415

    try:
        found = json.dumps({**figures(), "holds": longest(holds)})
        with open(note, "w") as file:  # noqa: PTH123
            file.write(found)
    except OSError:
        return


def noting_holds(holds: Holds) -> "AbstractContextManager[None]":
    from session_memory.store.lock_holds import listening  # noqa: PLC0415

    return listening(lambda hold: holds.append((hold.what, hold.wall, hold.cpu)))


def longest(holds: Holds) -> dict[str, float]:
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
    io = dict(line.split(": ") for line in lines_of("/proc/self/io"))
    status = dict(line.split(":", 1) for line in lines_of("/proc/self/status"))
    return {
        "written": int(io["write_bytes"]),
        "passed": int(io["wchar"]),
        "peak": int(status["VmHWM"].split()[0]) * 1024,
    }


def lines_of(path: str) -> list[str]:
    with open(path) as file:  # noqa: PTH123
        return file.read().splitlines()


if __name__ == "__main__":
    main()
