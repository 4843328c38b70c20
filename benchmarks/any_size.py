"""Every answer at any size: real logs, five copies of them, and how it grows from there.

    python benchmarks/any_size.py                     a table: one and five copies
    python benchmarks/any_size.py --most-mb 5000      and growth up to 5 GB, with plots
    python benchmarks/any_size.py --write             into docs/performance.md and its pictures

Each command runs in a new process. Goals that depend on the amount of logs are for 948 MB and are
scaled to what is there. CPU and wall time are of the quickest run.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import agentsview
import apsw
from budgets import table
from measurements import forget, on_disk, say
from plots import Line, plot
from processes import Bench, Failed, Run
from real_copies import RealLogs
from report import MB, PAGE, machine_line, replace_part

PICTURES = PAGE.with_suffix("")
PART, GROWTH_PART = "any size", "growth"
GOALS_ARE_FOR = 948 * MB
COPIES = 5
GROWTH = (10, 30, 100, 300, 1_000, 3_000, 5_000)
PHRASE, A_PATH, LONG = "ECONNREFUSED 127.0.0.1", "src/components", 1_600


@dataclass(frozen=True)
class Row:
    """``words`` is the command. ``goal`` is in seconds of CPU time; ``grows`` with the logs."""

    name: str
    words: tuple[str, ...]
    goal: float
    grows: bool = False
    times: int = 3


ROWS = (
    Row("nothing new", ("sync",), 0.12),
    Row("`sessions --limit 5`", ("sessions", "--limit", "5"), 0.10, times=5),
    Row("`statusline`", ("statusline",), 0.06, times=5),
    Row("`cost`", ("cost",), 0.3),
    Row("`stats`", ("stats",), 0.3),
    Row("`files`", ("files",), 0.3),
    Row(f"search `{PHRASE}`", ("search", PHRASE), 0.15),
    Row(f"search `{A_PATH}`", ("search", A_PATH), 0.15),
    Row("search, a rare word", ("search", "quuxzanzibar"), 0.15),
    Row("`analyze`, everything", ("analyze",), 12, grows=True, times=1),
    Row("`analyze`, nothing new", ("analyze",), 0.3),
    Row("`secrets`", ("secrets",), 6, grows=True, times=1),
    Row("`secrets`, nothing new", ("secrets",), 0.3),
    Row("`train stats`", ("train", "stats"), 8, grows=True, times=1),
    Row("`train export`", ("train", "export", "--out", "@OUT@"), 8, grows=True, times=1),
    Row(f"HTML of {LONG:,} events", ("export", "@LONG@", "--format", "html", "-o", "-"), 0.3),
)
GROWING = ("nothing new", "`stats`", f"search `{PHRASE}`", "`sessions --limit 5`")


@dataclass
class Size:
    """What was measured over ``bytes`` of logs."""

    bytes: int
    store: int
    runs: dict[str, Run] = field(default_factory=dict)
    peer: dict[str, Run] = field(default_factory=dict)


class AnySize:
    def __init__(self, bench: Bench, logs: RealLogs) -> None:
        self.bench = bench
        self.logs = logs

    def measured(self, megabytes: float, rows: tuple[Row, ...], *, peer: bool = False) -> Size:
        home, size = self.logs.home(int(megabytes * MB))
        store = self.bench.scratch / f"store-{size}.db"
        say(f"{size / MB:,.0f} MB of real logs: first sync")
        run = self._sync(home, store)
        found = Size(size, on_disk(store), {"first sync": run})
        for row in rows:
            say(f"{size / MB:,.0f} MB of real logs: {row.name}")
            runs = [self._run(row, home, store) for _ in range(row.times)]
            found.runs[row.name] = min(runs, key=lambda one: one.cpu)
        forget(store)
        if peer:
            found.peer = agentsview.first_sync(self.bench, home, say)
        return found

    def _sync(self, home: Path, store: Path) -> Run:
        return self.bench.cli("sync", "--root", home, "--store", store, "--json")

    def _run(self, row: Row, home: Path, store: Path) -> Run:
        if row.words == ("sync",):
            return self._sync(home, store)
        places = {
            "@OUT@": str(self.bench.new_path("train")),
            "@LONG@": self._long_session(store) if "@LONG@" in row.words else "",
        }
        words = [places.get(word, word) for word in row.words]
        return self.bench.cli(*words, "--store", store, env={"HOME": str(home)})

    def _long_session(self, store: Path) -> str:
        """The session whose number of events is nearest to that of the goal."""
        counted = """
            select uid from sessions join events on events.session_id = sessions.id
            group by uid order by abs(count(*) - ?) limit 1
        """
        with closing(apsw.Connection(str(store))) as db:
            ((uid,),) = db.execute(counted, (LONG,))
        return str(uid)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most-mb", type=int, default=0, help="also growth, up to this many MB")
    parser.add_argument("--skip-agentsview", action="store_true", help="do not measure the peer")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where there is room for it")
    parser.add_argument("--write", action="store_true", help=f"put it into {PAGE.name}")
    return parser.parse_args()


def measure(bench: Bench, most_mb: int, *, peer: bool, write: bool) -> list[str]:
    """The lines of the report. With ``write`` they go into the page, and plots beside it."""
    every = AnySize(bench, RealLogs(bench.scratch / "real-logs"))
    once = every.logs.bytes / MB
    sizes = [every.measured(once * copies, ROWS, peer=peer) for copies in (1, COPIES)]
    lines = [machine_line("python benchmarks/any_size.py"), "", *size_table(sizes)]
    if write:
        replace_part(PAGE, PART, lines)
    return [*lines, "", *_measure_growth(every, most_mb, write=write)] if most_mb else lines


def _measure_growth(every: AnySize, most_mb: int, *, write: bool) -> list[str]:
    """The lines about growth. They are a part of the page of their own, which stays as it is when
    only the sizes are measured."""
    steps = [size for size in GROWTH if size <= most_mb]
    rows = tuple(row for row in ROWS if row.name in GROWING)
    grown = [every.measured(size, rows) for size in steps]
    pictures = growth_pictures(grown)
    command = f"python benchmarks/any_size.py --most-mb {most_mb}"
    lines = [machine_line(command), "", *growth_table(grown), ""]
    lines += [f"![{name}](performance/{name}.svg)" for name in pictures]
    if write:
        PICTURES.mkdir(exist_ok=True)
        for name, picture in pictures.items():
            (PICTURES / f"{name}.svg").write_text(picture)
        replace_part(PAGE, GROWTH_PART, lines)
    return lines


def size_table(sizes: list[Size]) -> list[str]:
    heads = [f"{size.bytes / MB:,.0f} MB" for size in sizes]
    rows = [("CPU (wall), real logs", "goal for 948 MB", *heads, "")]
    first = ("first sync", Row("", (), 14, grows=True))
    for name, row in (first, *((row.name, row) for row in ROWS)):
        cells, ok = [], True
        for size in sizes:
            run = size.runs[name]
            cells.append(f"{run.cpu:.2f} s ({run.wall:.2f} s)")
            ok = ok and run.cpu <= row.goal * (size.bytes / GOALS_ARE_FOR if row.grows else 1)
        rows.append((name, f"≤ {row.goal:g} s", *cells, "ok" if ok else "**over**"))
    rows.append(_ratio("first sync, wall, beside agentsview", 0.25, sizes, _beside_peer))
    rows.append(_ratio("store on disk, beside the logs", 0.25, sizes, lambda s: s.store / s.bytes))
    return table(rows)


def _beside_peer(size: Size) -> float | None:
    theirs = size.peer.get("first sync")
    return size.runs["first sync"].wall / theirs.wall if theirs else None


def _ratio(
    name: str, goal: float, sizes: list[Size], value: Callable[[Size], float | None]
) -> tuple[str, ...]:
    values = [value(size) for size in sizes]
    cells = ["–" if one is None else f"{one:.2f} ×" for one in values]
    known = [one for one in values if one is not None]
    verdict = "not measured" if not known else "ok" if max(known) <= goal else "**over**"
    return (name, f"≤ {goal:g} ×", *cells, verdict)


def growth_table(sizes: list[Size]) -> list[str]:
    rows = [("CPU", *(f"{size.bytes / MB:,.0f} MB" for size in sizes))]
    rows += [(name, *(f"{size.runs[name].cpu:.2f} s" for size in sizes)) for name in sizes[0].runs]
    rows.append(("store on disk", *(f"{size.store / MB:,.0f} MB" for size in sizes)))
    return table(rows)


def growth_pictures(sizes: list[Size]) -> dict[str, str]:
    """By name: what grows with the logs, and what should not."""
    pictures = {}
    for name, title, keys in (
        ("sync", "First sync, CPU time by size of the logs", ("first sync",)),
        ("answers", "Answers, CPU time by size of the logs", GROWING),
    ):
        lines = [
            Line(key.replace("`", ""), [(size.bytes, size.runs[key].cpu) for size in sizes])
            for key in keys
        ]
        pictures[name] = plot(title, lines, _bytes)
    return pictures


def _bytes(count: float) -> str:
    return f"{count / 1e9:g} GB" if count >= 1e9 else f"{count / 1e6:g} MB"


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="session-memory-bench-", dir=options.scratch) as place:
        bench = Bench(Path(place).resolve())
        try:
            peer = not options.skip_agentsview
            lines = measure(bench, options.most_mb, peer=peer, write=options.write)
        except Failed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
