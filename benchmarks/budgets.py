"""The budgets of this release, how each measured figure compares, and the table of both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Two sizes of log, and what differs by less than this between them does not depend on the size:
# on a shared machine a quarter more or less means nothing.
SAME = 1.25


@dataclass(frozen=True)
class Budget:
    """``figure`` names the measured value; it must not exceed ``most``."""

    figure: str
    what: str
    budget: str
    most: float
    shown: str

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        return "ok" if value <= self.most else "**over**"


BUDGETS = (
    Budget("sync_cpu", "first sync, CPU", "≤ 16 × the floor", 16, "{:.1f} ×"),
    Budget("sync_wall", "first sync, wall", "≤ 0.10 × agentsview", 0.10, "{:.2f} ×"),
    Budget("pg_sync_wall", "first sync into PostgreSQL, wall", "≤ 2 × SQLite", 2, "{:.2f} ×"),
    Budget("written", "first sync, bytes written", "≤ 1.2 × the corpus", 1.2, "{:.2f} ×"),
    Budget("size", "store on disk, generated corpus", "≤ 0.50 × the logs", 0.50, "{:.3f} ×"),
    Budget("size_real", "store on disk, real logs", "≤ 0.30 × the logs", 0.30, "{:.3f} ×"),
    Budget("peak_mb", "peak memory, any of these syncs", "≤ 200 MB", 200, "{:.0f} MB"),
    Budget("nothing_new", "sync with nothing new", "≤ 0.25 s", 0.25, "{:.2f} s"),
    Budget("one_line", "one line appended to a 160 MB log", "≤ 0.25 s", 0.25, "{:.2f} s"),
    Budget("one_line_ratio", "the same, 160 MB against 16 MB", f"≤ {SAME} ×", SAME, "{:.2f} ×"),
    Budget("watch_one", "watch: a line is in the store, p99", "≤ 1 s", 1, "{:.2f} s"),
    Budget("watch_many", "watch: 200 logs grow at once, p99", "≤ 1 s", 1, "{:.2f} s"),
    Budget("watch_idle", "watch: CPU when nothing happens", "< 1 %", 1, "{:.2f} %"),
    Budget("watch_growth", "watch: memory, 10,000 lines later", f"≤ {SAME} ×", SAME, "{:.2f} ×"),
    Budget("tokens_wrong", "tokens per day and model that differ from the truth", "0", 0, "{:.0f}"),
    Budget("cost_s", "cost report, all time", "≤ 0.3 s", 0.3, "{:.2f} s"),
    Budget("cost_ccusage", "the same, wall", "≤ 0.5 × ccusage", 0.5, "{:.2f} ×"),
    Budget("cost_wrong", "amounts that differ from those of genai-prices", "0", 0, "{:.0f}"),
    Budget("statusline_ms", "`session-memory statusline`", "≤ 150 ms", 150, "{:.0f} ms"),
    Budget("analyze_cpu", "analysis of everything, CPU", "≤ 3 × reading the events", 3, "{:.1f} ×"),
    Budget("analyze_mb", "the same, peak memory", "≤ 150 MB", 150, "{:.0f} MB"),
    Budget("detect_wrong", "signals wrong or missed, 1,000 planted sessions", "0", 0, "{:.0f}"),
    Budget("search_rare_ms", "search, a rare word", "≤ 5 ms", 5, "{:.2f} ms"),
    Budget("search_common_ms", "search, common words", "≤ 20 ms", 20, "{:.1f} ms"),
    Budget("search_hyphen_ms", "search, `a-b`", "≤ 20 ms", 20, "{:.1f} ms"),
    Budget("snippet_ms", "a snippet of a hit", "≤ 1 ms", 1, "{:.2f} ms"),
    Budget("search_wrong", "needles not found in exactly their sessions", "0", 0, "{:.0f}"),
    Budget("payload_ms", "the payload of one event", "< 1 ms", 1, "{:.2f} ms"),
    Budget("live_append", "live append, CPU", "≤ 0.67 × power-loop", 0.67, "{:.2f} ×"),
    Budget("live_async", "live append, async, wall", "≤ 0.20 × power-loop", 0.20, "{:.2f} ×"),
    Budget("live_failed", "live, 4 processes × 2,000: failed or missing", "0", 0, "{:.0f}"),
    Budget("live_load", "live, load 20,000 messages", "≤ 1.2 × the bare rows", 1.2, "{:.2f} ×"),
    Budget("live_length", "live append at 100,000 against 100", f"≤ {SAME} ×", SAME, "{:.2f} ×"),
    Budget("live_tail", "live, last 50 at 100,000 against 100", f"≤ {SAME} ×", SAME, "{:.2f} ×"),
    Budget("help_ms", "`session-memory --help`", "≤ 150 ms", 150, "{:.0f} ms"),
)

# Section 12 of the design, row by row: which figures answer it now, and which come with a later
# release. tests/test_docs.py holds this against the design, where the design is at hand.
IN_DESIGN: Mapping[str, tuple[str, ...]] = {
    "first sync, everything stored and indexed": ("sync_cpu", "sync_wall"),
    "bytes written": ("written",),
    "store on disk, raw and index included": ("size", "size_real"),
    "peak memory, any corpus": ("peak_mb",),
    "sync with nothing new (2,480 files)": ("nothing_new",),
    "one line appended to a 160 MB log": ("one_line", "one_line_ratio"),
    "search, rare / common word, tool output included (hits and scores; snippets: + 1 ms each)": (
        *("search_rare_ms", "search_common_ms", "search_hyphen_ms", "snippet_ms", "search_wrong"),
    ),
    "cost report, all time": ("cost_s", "tokens_wrong"),
    "live append, durable per the same setting": ("live_append", "live_async"),
    "4 processes × 2,000 appends on one session": ("live_failed",),
    "load context of a 20,000-message session / its last 50": ("live_load", "live_tail"),
    "`session-memory --help`": ("help_ms",),
}
LATER: tuple[str, ...] = ()


def budget_table(figures: Mapping[str, float]) -> list[str]:
    rows = [("what", "budget", "measured", "")]
    for budget in BUDGETS:
        value = figures.get(budget.figure)
        shown = "–" if value is None else budget.shown.format(value)
        rows.append((budget.what, budget.budget, shown, budget.verdict(value)))
    return table(rows)


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Markdown with aligned columns, so that it can be read as it is."""
    head, *body = [tuple(row) for row in rows]
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]

    def line(cells: Iterable[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    return [line(head), line("-" * width for width in widths), *map(line, body)]
