"""The measured figures as tables, for the terminal and for docs/performance.md."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import agentsview
from budgets import budget_table, table
from measurements import FLOORS, Measurements
from processes import CHECKOUT, Failed, Run
from watching import percentile

PAGE = CHECKOUT / "docs" / "performance.md"
MB = 1_000_000


def report(m: Measurements, peer: agentsview.Peer, command: str) -> list[str]:
    corpus = (
        f"{m.corpus.bytes / MB:.0f} MB in {m.corpus.files:,} files, {m.figures['sessions']:,}"
        f" sessions, {m.figures['events']:,} events"
    )
    floors = ", ".join(f"`{name}` {m.floor(name):.2f} s" for name in FLOORS)
    return [
        machine_line(command),
        f"Corpus: {corpus}. CPU time of the floors: {floors}.",
        *([] if m.corpus.is_full else ["The budgets are meant for a corpus of 300 MB or more."]),
        "",
        *budget_table(m.figures),
        "",
        *also_measured(m),
        "",
        *watch_report(m),
        "",
        *m.live,
        "",
        *m.cost,
        *([""] if m.cost else []),
        *peer_report(m, peer),
    ]


def machine_line(command: str) -> str:
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    python = f"Python {platform.python_version()}"
    return f"Made by `{command}` on {datetime.now(UTC):%Y-%m-%d} ({machine}, {python})."


def also_measured(m: Measurements) -> list[str]:
    rows = [("also measured, same corpus", "wall", "CPU", "peak memory", "")]
    remarks = {
        "first sync": f"best of {len(m.runs['first sync'])};"
        f" {m.figures['sync_cpu_lines']:.0f} × the floor `lines`",
        "160 MB log, sync": "into the store of the corpus, in short transactions",
        "restore-native --all": _count(m, "restored_wrong", "{} files differ", "byte for byte"),
        "rebuild": _count(m, "rebuild_differs", "fingerprint differs", "the same fingerprint"),
        "real logs, sync": f"{m.figures['real_bytes'] / MB:.1f} MB",
    }
    for name, runs in m.runs.items():
        best = min(runs, key=lambda run: run.wall)
        peak = max(run.peak for run in runs) / MB
        remark = remarks.get(name, f"best of {len(runs)}" if len(runs) > 1 else "")
        rows.append((name, f"{best.wall:.2f} s", f"{best.cpu:.2f} s", f"{peak:.0f} MB", remark))
    return table(rows)


def watch_report(m: Measurements) -> list[str]:
    if m.watched is None:
        return []
    w = m.watched
    rows = [("watch, beside the corpus", "p50", "p99", "most", "")]
    for name, seconds in (("one line", w.single), ("200 logs at once", w.at_once)):
        figures = (percentile(seconds, 50), percentile(seconds, 99), max(seconds))
        rows.append((name, *(f"{one:.2f} s" for one in figures), f"{len(seconds):,} lines"))
    sizes = f"{w.early_rss / MB:.0f} MB, {w.lines:,} lines later {w.late_rss / MB:.0f} MB"
    return [*table(rows), "", f"Memory of the watch: {sizes}."]


def _count(m: Measurements, figure: str, wrong: str, right: str) -> str:
    count = int(m.figures[figure])
    return f"**{wrong.format(count)}**" if count else right


def peer_report(m: Measurements, peer: agentsview.Peer) -> list[str]:
    lines: list[str] = []
    if peer.runs:
        rows = [(peer.version, "wall", "CPU", "peak memory", "")]
        for name, run in peer.runs.items():
            remark = ""
            if name == "first sync":
                share = (run.written or 0) / m.corpus.bytes
                size = peer.store / m.corpus.bytes
                remark = f"wrote {share:.1f} × the corpus, keeps {size:.2f} ×"
            figures = (f"{run.wall:.2f} s", f"{run.cpu:.2f} s", f"{run.peak / MB:.0f} MB")
            rows.append((name, *figures, remark))
        lines += table(rows)
    if peer.why_not:
        lines.append(
            f"agentsview was not measured{' further' if peer.runs else ''}:"
            f" {peer.why_not.splitlines()[0]}"
        )
    return lines


def write_page(lines: list[str]) -> None:
    replace_part(PAGE, "measured", lines)


def replace_part(page: Path, part: str, lines: list[str]) -> None:
    """Replace what stands between the markers of ``part``, and nothing else."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    head, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise Failed(f"{page.name} lacks its markers\nhint: put back {begin} and {end}")
    body = "\n".join(("", "", *lines, "", ""))
    page.write_text(f"{head}{begin}{body}{end}{tail}", encoding="utf-8")


def as_json(m: Measurements, peer: agentsview.Peer) -> dict[str, Any]:
    def plain(runs: list[Run]) -> list[dict[str, Any]]:
        names = ("wall", "cpu", "peak", "written", "passed")
        return [{name: getattr(run, name) for name in names} for run in runs]

    return {
        "figures": m.figures,
        "floors": m.floors,
        "runs": {name: plain(runs) for name, runs in m.runs.items()},
        "agentsview": {
            "version": peer.version,
            "runs": {name: plain([run])[0] for name, run in peer.runs.items()},
            "store": peer.store,
            "why_not": peer.why_not,
        },
    }
