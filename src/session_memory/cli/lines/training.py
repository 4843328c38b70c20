"""The report of an export of training data, as lines: examples, reasons, masked secrets."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import Column, table, terminal_width
from session_memory.cli.lines.folding import wrapped
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.learn.train.card import TrainingReport

SHAPE = (
    '{"total", "rows": {KIND: {SPLIT: COUNT}}, "scores": {KIND: {SCORE: COUNT}}, "dropped": {KIND:'
    ' {REASON: COUNT}}, "secrets": {SECRET_KIND: COUNT}, "sessions", "repos", "files": [PATH, …],'
    ' "bytes"}; "rows" counts the examples; "scores" counts them by quality, 3 to 5, and examples'
    ' below 3 are dropped; "secrets" counts masked secrets; "files" and "bytes" are what export'
    " wrote, so they are empty and 0 in stats."
)


def lines(report: "TrainingReport") -> Iterator[str]:
    from session_memory.learn.train.card import SPLITS

    if report.rows:
        columns = (
            Column("kind"),
            *(Column(split, right=True) for split in SPLITS),
            Column("scores"),
        )
        rows = [
            (kind, *(f"{splits.get(split, 0):,}" for split in SPLITS), _scores(report, kind))
            for kind, splits in report.rows.items()
        ]
        yield from table(columns, rows, terminal_width())
    for kind, reasons in report.dropped.items():
        yield from _counts(f"left out of {kind}", reasons)
    if report.secrets:
        yield from _counts("masked", report.secrets)


def _counts(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield ``title: 2 (reason), 1 (reason)``, wrapped to the width of the terminal."""
    text = ", ".join(f"{count:,} ({name})" for name, count in counts.items())
    columns = terminal_width()
    first, *others = wrapped(f"{title}: {text}", columns and columns - 2)
    yield from (first, *(f"  {other}" for other in others))


def _scores(report: "TrainingReport", kind: str) -> str:
    return " ".join(f"{score}:{count:,}" for score, count in report.scores[kind].items())


def hint(report: "TrainingReport") -> str | None:
    from session_memory.learn.train.sessions import NOT_ANALYZED

    waiting = sum(reasons.get(NOT_ANALYZED, 0) for reasons in report.dropped.values())
    if waiting:
        return f"{plural(waiting, 'session')} to analyze first: session-memory analyze"
    return None if report.total else "Nothing to learn from yet: see docs/training.md"
