"""What a sync did, in one paragraph."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import short_path, terminal_width
from session_memory.render.text import safe
from session_memory.views.figures import duration, plural, size

if TYPE_CHECKING:
    from session_memory.collect.sync_report import SyncOutcome
    from session_memory.store import Store

# Below this, a database is mostly empty pages and its ratio to the logs says nothing.
TELLING = 4 << 20
PARAGRAPH = 88


def sync_summary(outcome: "SyncOutcome", store: "Store", *, dry_run: bool = False) -> str:
    sentences = [_found(outcome, dry_run)]
    if not dry_run:
        sentences += [_read(outcome), *_remarks(outcome), _kept(store)]
    return wrapped(" ".join([*sentences, f"Took {duration(outcome.report.seconds)}."]))


def wrapped(paragraph: str) -> str:
    """A paragraph in lines that fit; paths stay whole."""
    columns = min(terminal_width() or PARAGRAPH, PARAGRAPH)
    return "\n".join(
        textwrap.wrap(safe(paragraph), columns, break_long_words=False, break_on_hyphens=False)
    )


def _found(outcome: "SyncOutcome", dry_run: bool) -> str:
    report = outcome.report
    changed = report.discovered - report.unchanged - report.failed
    new = "to read" if dry_run else "new or grown"
    return (
        f"Discovered {plural(report.discovered, 'source')}: {changed:,} {new},"
        f" {report.unchanged:,} unchanged, {report.failed:,} unreadable."
    )


def _read(outcome: "SyncOutcome") -> str:
    report = outcome.report
    if not report.ingested:
        return "Nothing new to read."
    return (
        f"Read {size(report.bytes)} into {plural(report.sessions, 'session')}"
        f" with {plural(report.events, 'new event')}."
    )


def _remarks(outcome: "SyncOutcome") -> Iterator[str]:
    report = outcome.report
    if report.problems:
        new = f" ({outcome.new_problems:,} new)" if outcome.new_problems else ""
        yield f"The store notes {plural(report.problems, 'problem')}{new}."
    if outcome.vanished:
        gone = plural(outcome.vanished, "log")
        yield f"The agent has deleted {gone} since the last sync; what was read of them is kept."


def _kept(store: "Store") -> str:
    raw, _ = store.raw.stored_bytes()
    here = store.db.bytes_on_disk()
    text = f"The store {short_path(store.db.name)} takes {size(here)} for {size(raw)} of logs"
    return f"{text} ({here / raw:.0%})." if raw >= TELLING else f"{text}."


def looked_at(outcome: "SyncOutcome") -> list[str]:
    """Where a sync that found nothing has looked."""
    return [
        f"{root.flavor}: {short_path(root.path)}" + ("" if root.exists else " (no such directory)")
        for root in outcome.roots
    ]
