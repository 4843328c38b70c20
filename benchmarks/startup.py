"""What each command costs before and while it answers: CPU time, modules, the slowest imports.

    .venv/bin/python benchmarks/startup.py STORE [--runs 9]

Prints one table. The budget of a command is in ``BUDGETS``, in milliseconds of CPU time; the start
of Python alone is the first row. A busy machine makes all rows slower, so compare with that one.
"""

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Sequence

READING, QUICK = 100, 60
START = "from session_memory.start import main; main()"
BUDGETS = {
    "statusline": QUICK,
    "hook claude failure": QUICK,
    "--help": QUICK,
    "version": READING,
    "sessions": READING,
    "search webhook": READING,
    "cost": READING,
    "files": READING,
    "stats": READING,
    "status": READING,
    "how build": READING,
    "similar build": READING,
    "fix ECONNREFUSED": READING,
    "patterns": READING,
    "problems": READING,
    "sources": READING,
    "secrets": READING,
}


def cpu_ms(command: Sequence[str], environ: dict[str, str], runs: int) -> float:
    """The least CPU time of several runs. The first one compiles modules and does not count."""
    best = float("inf")
    for run in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environ, input=b"{}", capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used * 1000) if run else best
    return best


def imports(args: Sequence[str], environ: dict[str, str]) -> tuple[int, str]:
    """How many modules are loaded, and the three that take longest by themselves."""
    command = [sys.executable, "-X", "importtime", "-c", START, *args]
    done = subprocess.run(command, env=environ, input=b"{}", capture_output=True, check=False)
    found = []
    for line in done.stderr.decode(errors="replace").splitlines():
        if line.startswith("import time:") and line[12:].split("|")[0].strip().isdigit():
            own, _, name = line[12:].split("|")
            found.append((int(own), name.strip()))
    slowest = sorted(found, reverse=True)[:3]
    return len(found), ", ".join(f"{name} {own / 1000:.1f}" for own, name in slowest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environ["SESSION_MEMORY_STORE"] = given.store
    print("| command | budget | CPU, ms | modules | slowest imports, ms |\n|---|--:|--:|--:|---|")
    bare = cpu_ms([sys.executable, "-c", "pass"], environ, given.runs)
    print(f"| Python alone | | {bare:.0f} | | |")
    for command, budget in BUDGETS.items():
        args = command.split()
        used = cpu_ms([sys.executable, "-c", START, *args], environ, given.runs)
        number, slowest = imports(args, environ)
        print(f"| `{command}` | {budget} | {used:.0f} | {number} | {slowest} |", flush=True)


if __name__ == "__main__":
    main()
