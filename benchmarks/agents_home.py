"""A home with logs of every agent: what a sync costs, and what it costs when nothing is new.

    python benchmarks/agents_home.py            print the tables
    python benchmarks/agents_home.py --write    and write them into docs/performance.md

The logs are the samples of the tests. Figures of single agents are CPU time inside one process, so
that another program on the machine changes them little. The whole home is synced by the command,
with its start.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw
from budgets import table
from processes import CHECKOUT, Bench, Run
from report import PAGE, replace_part

from session_memory import Memory
from session_memory.adapters.registry import flavors
from session_memory.live.skill_log import SkillLog
from session_memory.testing.claude import ClaudeHome

DATA = CHECKOUT / "tests" / "data"
# The live sessions of a store have no files.
WITHOUT_LOGS = ("live",)
REPEATED = 7
# Seconds.
MOST_NOTHING_NEW = 0.25


def make_home(home: Path) -> None:
    """One home with the logs of all agents, each where the agent keeps them."""
    for flavor in flavors():
        for sample in sorted((DATA / flavor).glob("*/home")):
            shutil.copytree(sample, home, dirs_exist_ok=True)
    shutil.copytree(DATA / "goose", home, dirs_exist_ok=True)
    _make_crush(home)
    _make_kilo(home)
    _make_power_loop(home)
    SkillLog(home / ".session-memory" / "skills").append(
        {"session_id": "bench", "skill": "mend", "final_status": "pass"}
    )
    # Histories of aider are found where other sessions worked.
    claude = ClaudeHome(home, cwd=str(home / "code" / "shop"))
    claude.session().prompt("look at the shop")
    claude.write()


def _make_crush(home: Path) -> None:
    project = home / "code" / "depot"
    shutil.copytree(DATA / "crush", project)
    listed = home / ".local" / "share" / "crush" / "projects.json"
    listed.parent.mkdir(parents=True)
    data = {"path": str(project), "data_dir": str(project / ".crush")}
    listed.write_text(json.dumps({"projects": [data]}))


def _make_kilo(home: Path) -> None:
    """Kilo Code writes what Roo Code does, in a directory of its own."""
    storage = home / ".config" / "Code" / "User" / "globalStorage"
    roo = storage / "rooveterinaryinc.roo-cline"
    shutil.copytree(roo, storage / "kilocode.kilo-code", dirs_exist_ok=True)


def _make_power_loop(home: Path) -> None:
    db = apsw.Connection(str(home / "power_loop_sessions.db"))
    db.execute((DATA / "power_loop" / "8.0.0" / "database.sql").read_text())
    db.close()


@dataclass(frozen=True)
class AgentRow:
    """One agent: what there is of it, and milliseconds of CPU time."""

    flavor: str
    sources: int
    sessions: int
    events: int
    bytes: int
    first: float
    nothing_new: float


def cpu_ms(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1000


def measured(flavor: str, scratch: Path) -> AgentRow:
    """A first sync of one agent into a store of its own, and one with nothing new."""
    # The first one also loads the adapter, which a command pays for, too.
    with Memory(scratch / f"{flavor}.db") as memory:
        results = []
        first = cpu_ms(lambda: results.append(memory.sync(flavors=flavor, retain=False)))
        (result,) = results
        again = min(
            cpu_ms(lambda: memory.sync(flavors=flavor, retain=False)) for _ in range(REPEATED)
        )
    return AgentRow(
        flavor, result.discovered, result.sessions, result.events, result.bytes, first, again
    )


def every_agent(home: Path, scratch: Path) -> list[AgentRow]:
    os.environ["HOME"] = str(home)
    rows = []
    for flavor in flavors():
        if flavor in WITHOUT_LOGS:
            continue
        # An agent that keeps its logs in repositories needs the sessions of another one.
        rows.append(_beside_claude(scratch) if flavor == "aider" else measured(flavor, scratch))
    return rows


def _beside_claude(scratch: Path) -> AgentRow:
    with Memory(scratch / "aider.db") as memory:
        memory.sync(flavors="claude", retain=False)
    return measured("aider", scratch)


def whole_home(bench: Bench, home: Path) -> tuple[Run, list[Run]]:
    """The command over everything: the first run, and runs with nothing new."""
    env = {"HOME": str(home)}
    words = ("--store", bench.scratch / "all.db", "--json", "sync")
    # The second run finds the logs in the directories that the first one learned of.
    first = bench.cli(*words, env=env)
    bench.cli(*words, env=env)
    return first, [bench.cli(*words, env=env) for _ in range(REPEATED)]


def lines_of(rows: list[AgentRow], first: Run, again: list[Run], empty: Run) -> Iterator[str]:
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}"
    yield f"Made by `benchmarks/agents_home.py` on {datetime.now(UTC):%Y-%m-%d} ({machine})."
    yield f"One home with logs of {len(rows)} agents: the samples of the tests. CPU time in"
    yield "milliseconds, without the start of the command:"
    yield ""
    head = ("agent", "sources", "sessions", "events", "logs", "first sync", "nothing new")
    yield from table(
        [
            head,
            *(
                (
                    row.flavor,
                    f"{row.sources:,}",
                    f"{row.sessions:,}",
                    f"{row.events:,}",
                    f"{row.bytes / 1000:,.0f} kB",
                    f"{row.first:,.0f}",
                    f"{row.nothing_new:,.1f}",
                )
                for row in rows
            ),
        ]
    )
    # Other programs on the machine make the wall time longer, and hardly the CPU time.
    best = min(again, key=lambda run: run.cpu)
    state = "ok" if best.cpu <= MOST_NOTHING_NEW else "**over**"
    found = best.answer
    yield ""
    yield from table(
        [
            ("`session-memory sync`, all agents at once", "budget", "wall", "CPU", ""),
            ("first", "", f"{first.wall:.2f} s", f"{first.cpu:.2f} s", ""),
            (
                f"nothing new, {found['discovered']:,} sources, best of {len(again)}",
                f"≤ {MOST_NOTHING_NEW} s CPU",
                f"{best.wall:.2f} s",
                f"{best.cpu:.2f} s",
                state,
            ),
            ("a home without agents", "", f"{empty.wall:.2f} s", f"{empty.cpu:.2f} s", ""),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        scratch, home = Path(place), Path(place) / "home"
        home.mkdir()
        make_home(home)
        bench = Bench(scratch)
        first, again = whole_home(bench, home)
        nobody = ("--store", scratch / "empty.db", "--json", "sync")
        bench.cli(*nobody)
        empty = min((bench.cli(*nobody) for _ in range(REPEATED)), key=lambda run: run.cpu)
        rows = every_agent(home, scratch)
    lines = list(lines_of(rows, first, again, empty))
    print("\n".join(lines))
    if missing := [row.flavor for row in rows if not row.sources]:
        sys.exit(f"no logs of {', '.join(missing)}: add a sample to make_home")
    if asked.write:
        replace_part(PAGE, "agents", lines)


if __name__ == "__main__":
    main()
