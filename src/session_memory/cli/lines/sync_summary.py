"""What a sync did, in one paragraph."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import terminal_width
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import duration, plural, size

if TYPE_CHECKING:
    from session_memory.memory.results import SyncResult
    from session_memory.store import Store

# With fewer bytes of logs, a database is mostly empty pages, and its size in percent misleads.
TELLING = 4 << 20
PARAGRAPH = 88


def sync_summary(result: "SyncResult", store: "Store", *, dry_run: bool = False) -> str:
    sentences = [_found(result, dry_run), *_agents(result)]
    if not dry_run:
        sentences += [_read(result), *_remarks(result), _kept(store)]
    return wrapped(" ".join([*sentences, f"Took {duration(result.seconds)}."]))


def wrapped(paragraph: str) -> str:
    """Break a paragraph into lines that fit the terminal. Paths are not broken."""
    columns = min(terminal_width() or PARAGRAPH, PARAGRAPH)
    return "\n".join(
        textwrap.wrap(safe(paragraph), columns, break_long_words=False, break_on_hyphens=False)
    )


def _found(result: "SyncResult", dry_run: bool) -> str:
    changed = result.discovered - result.unchanged - result.failed
    new = "to read" if dry_run else "new or grown"
    return (
        f"Discovered {plural(result.discovered, 'source')}: {changed:,} {new},"
        f" {result.unchanged:,} unchanged, {result.failed:,} unreadable."
    )


def _agents(result: "SyncResult") -> Iterator[str]:
    """Yield the number of sources found for each agent, if there are several agents."""
    if len(result.by_flavor) > 1:
        found = (f"{flavor} {count:,}" for flavor, count in sorted(result.by_flavor.items()))
        yield f"By agent: {', '.join(found)}."


def _read(result: "SyncResult") -> str:
    if not result.ingested:
        return "Nothing new to read."
    return (
        f"Read {size(result.bytes)} into {plural(result.sessions, 'session')}"
        f" with {plural(result.events, 'new event')}."
    )


def _remarks(result: "SyncResult") -> Iterator[str]:
    if result.problems:
        new = f" ({result.new_problems:,} new)" if result.new_problems else ""
        yield f"The store notes {plural(result.problems, 'problem')}{new}."
    if result.vanished:
        gone = plural(result.vanished, "log")
        yield f"The agent has deleted {gone} since the last sync; what was read of them is kept."


def _kept(store: "Store") -> str:
    raw, _ = store.raw.stored_bytes()
    here = store.db.bytes_on_disk()
    text = f"The store {short_path(store.db.name)} takes {size(here)} for {size(raw)} of logs"
    return f"{text} ({here / raw:.0%})." if raw >= TELLING else f"{text}."


def looked_at(result: "SyncResult") -> list[str]:
    """Return the directories in which a sync looked for logs, with the agent of each."""
    return [
        f"{root.flavor}: {short_path(root.path)}" + ("" if root.exists else " (no such directory)")
        for root in result.roots
    ]
