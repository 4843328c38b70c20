"""What a measured process runs: one command line, and a note of what it cost.

    python child.py NOTE sync --root …      the command line of this checkout, in this process
    python child.py NOTE -- PROGRAM …       another program, and its children

Bytes written can be asked only while a process lives, so it leaves the figures in the file NOTE
itself. Linux only; elsewhere the note says nothing and those figures are missing.
"""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def main() -> None:
    note, *words = sys.argv[1:]
    try:
        if words[0] == "--":
            sys.exit(subprocess.call(words[1:]))
        sys.argv[1:] = words
        # Imported here so that the start of the command line is part of what is measured.
        from session_memory.cli import main as command_line  # noqa: PLC0415

        command_line()
    finally:
        with suppress(OSError):
            Path(note).write_text(json.dumps(figures()))


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
