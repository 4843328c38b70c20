"""The cost report: how long it takes, whether the oracle agrees, and what ccusage says.

    python benchmarks/cost.py HOME STORE     a corpus, and a store with it

genai-prices prices every usage record of the store again, one by one. ccusage (npm) is taken from
the PATH or from ``SESSION_MEMORY_CCUSAGE``, gets the same logs, and no network. docs/cost.md has
the table this prints, and explains the differences.
"""

import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from budgets import table
from processes import Bench, Failed, Run

ORACLE = Path(__file__).resolve().parent / "cost_oracle.py"
TIMES = 5
MOST_SECONDS = 300
TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
OURS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass
class Measured:
    runs: dict[str, list[Run]] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    models: list[tuple[str, ...]] = field(default_factory=list)
    version: str = ""


def measure(bench: Bench, home: Path, store: Path) -> Measured:
    """Ours and, where it is installed, theirs, in turns."""
    found = Measured()
    ccusage = _ccusage(bench)
    for _ in range(TIMES):
        options = ("--store", store, "--json")
        found.runs.setdefault("cost", []).append(bench.cli("cost", "--tz", "UTC", *options))
        found.runs.setdefault("statusline", []).append(bench.cli("statusline", "--store", store))
        if ccusage:
            found.runs.setdefault("ccusage", []).append(_theirs(bench, ccusage, home, "daily"))
    walls = {name: median(run.wall for run in runs) for name, runs in found.runs.items()}
    found.figures["cost_s"] = walls["cost"]
    found.figures["statusline_ms"] = walls["statusline"] * 1000
    if ccusage:
        found.figures["cost_ccusage"] = walls["cost"] / walls["ccusage"]
        found.version = bench.program([ccusage, "--version"]).out.strip()
        found.models = list(_side_by_side(bench, ccusage, home, store))
    found.figures["cost_wrong"] = _differing(bench, store)
    return found


def _ccusage(bench: Bench) -> str | None:
    """Its program; None if there is none, or it does not start."""
    found = os.environ.get("SESSION_MEMORY_CCUSAGE") or shutil.which("ccusage")
    try:
        if found:
            bench.program([found, "--version"])
    except Failed as error:
        print(f"  ccusage is not measured: {error}", file=sys.stderr)
        return None
    return found


def _theirs(bench: Bench, program: str, home: Path, by: str) -> Run:
    words = [program, by, "--offline", "--json", "-z", "UTC"]
    return bench.program(words, env={"HOME": str(home)}, seconds=MOST_SECONDS)


def _differing(bench: Bench, store: Path) -> float:
    """How many records cost something else by the oracle."""
    answer: dict[str, int] = bench.script(ORACLE, store).answer
    if not answer["priced"]:
        raise Failed("the oracle priced nothing")
    return answer["differing"]


def _side_by_side(bench: Bench, ccusage: str, home: Path, store: Path) -> list[tuple[str, ...]]:
    """By model: the same tokens, and what each makes of them."""
    options = ("--tz", "UTC", "--store", store, "--json")
    ours = {row["key"]: row for row in bench.cli("cost", "--by", "model", *options).answer["rows"]}
    theirs: dict[str, dict[str, float]] = {}
    for month in _theirs(bench, ccusage, home, "monthly").answer["monthly"]:
        for row in month["modelBreakdowns"]:
            model = theirs.setdefault(row["modelName"], dict.fromkeys((*TOKENS, "cost"), 0))
            for name in model:
                model[name] += row[name]
    rows = [("model", "tokens", "the same", "Session Memory", "ccusage", "difference")]
    for model in sorted(ours.keys() | theirs.keys()):
        rows.append(_row(model, ours.get(model, {}), theirs.get(model, {})))
    return rows


def _row(model: str, our: dict[str, Any], their: dict[str, float]) -> tuple[str, ...]:
    mine = [our.get(name, 0) for name in OURS]
    same = mine == [their.get(name, 0) for name in TOKENS]
    dollars = our.get("microdollars", 0) / 1_000_000
    cost = their.get("cost", 0)
    difference = f"{dollars - cost:+.6f}"
    return (
        model,
        f"{sum(mine):,}",
        "yes" if same else "**no**",
        f"{dollars:.6f}",
        f"{cost:.6f}",
        difference,
    )


def report(found: Measured) -> list[str]:
    """ccusage on the same logs; nothing where it is not installed."""
    runs = found.runs.get("ccusage")
    if not runs:
        return []
    best = min(runs, key=lambda run: run.wall)
    peak = max(run.peak for run in runs) / 1_000_000
    row = ("daily --offline", f"{best.wall:.2f} s", f"{best.cpu:.2f} s", f"{peak:.0f} MB")
    return table([(found.version, "wall", "CPU", "peak memory"), row])


def main() -> int:
    home, store = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="session-memory-cost-") as scratch:
        try:
            found = measure(Bench(Path(scratch).resolve()), home, store)
        except Failed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    if found.models:
        print("\n".join(table(found.models)))
        print(f"({found.version})")
    for name, runs in found.runs.items():
        walls = ", ".join(f"{run.wall:.2f}" for run in runs)
        print(f"{name}: wall {walls} s; least CPU {min(run.cpu for run in runs):.2f} s")
    print(json.dumps(found.figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
