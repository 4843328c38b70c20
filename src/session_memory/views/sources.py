"""List the files of agents that were found, how far each was read, and the use of their lines."""

from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.roles import REWRITTEN
from session_memory.core.time import format_time
from session_memory.retain.native_files import is_made_of_rows
from session_memory.store import Store
from session_memory.store.sources import Account, SourceRow, total
from session_memory.views.matching import is_like

STATES = ("read", "behind", "gone", "old", "evicted")
FIELDS = ("lines", "events", "bookkeeping", "copies", "problems", "unaccounted", "unfinished")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One generation of an agent's file. A file that is rewritten gets a new generation.

    ``state``: ``read`` (the store has all of it), ``behind`` (it changed since, or was not read),
    ``gone`` (the agent deleted it), ``old`` (an earlier generation), or ``evicted`` (its content
    was moved to the archive). From byte ``redacted_from`` on, secrets were masked while collecting.
    """

    uid: str
    host: str
    flavor: str
    role: str
    path: str
    session: str
    generation: int
    state: str
    size: int
    kept: int
    read_to: int
    lines: int
    adapter_version: int
    discovered_at: str
    ingested_at: str | None
    redacted_from: int | None


class SourceList(msgspec.Struct, frozen=True):
    sources: list[Source]
    total: int

    def to_dict(self) -> dict[str, Any]:
        return {"sources": msgspec.to_builtins(self.sources), "total": self.total}


class Accounting(msgspec.Struct, frozen=True):
    """How many lines of all logs gave events, are bookkeeping, copies or problems. Blank lines do
    not count. ``unaccounted`` has the number of unexplained lines by file."""

    totals: Account
    sources: int
    unaccounted: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        totals = {name: getattr(self.totals, name) for name in FIELDS}
        return {
            **totals,
            "bookkeeping_kinds": self.totals.bookkeeping_kinds,
            "sources": self.sources,
            "unaccounted_in": self.unaccounted,
        }


def list_sources(
    store: Store,
    *,
    flavor: str | None = None,
    host: str | None = None,
    role: str | None = None,
    state: str | None = None,
    text: str | None = None,
    limit: int = 0,
    here: str | None = None,
) -> SourceList:
    """List the files of agents that were found, sorted by host and path.

    ``flavor`` and ``host`` are names or patterns (``web*``). ``text`` matches anywhere in the path.
    Files of the machine ``here`` are checked on disk: one that changed is ``behind``.
    """
    evicted = store.retention.evicted()
    every = (_source(row, here, is_evicted=row.id in evicted) for row in store.sources.every())
    sources = [
        source
        for source in every
        if is_like(source.flavor, flavor)
        and is_like(source.host, host)
        and role in (None, source.role)
        and state in (None, source.state)
        and (text is None or text in source.path)
    ]
    return SourceList(sources[:limit] if limit else sources, len(sources))


def account(store: Store) -> Accounting:
    accounts = store.sources.account()
    paths = {row.id: row.path for row in store.sources.every()}
    wrong = {paths[key]: one.unaccounted for key, one in accounts.items() if one.unaccounted}
    return Accounting(total(accounts), len(accounts), wrong)


def state_of(row: SourceRow, here: str | None = None, *, is_evicted: bool = False) -> str:
    if is_evicted:
        return "evicted"
    if row.superseded:
        return "old"
    if row.vanished:
        return "gone"
    if is_made_of_rows(row) or row.role == REWRITTEN:
        # The size of a database or a document cannot be compared with the bytes kept as lines.
        return "behind" if row.ingested_at is None else "read"
    is_behind = row.ingested_at is None or row.kept < row.size
    return "behind" if is_behind or (row.host == here and _has_changed(row)) else "read"


def _has_changed(row: SourceRow) -> bool:
    """Whether the file changed since it was read. A missing file counts as unchanged."""
    try:
        status = Path(row.path).stat()
    except (OSError, ValueError):
        return False
    return (status.st_size, status.st_mtime_ns) != (row.size, row.mtime_ns)


def _source(row: SourceRow, here: str | None, *, is_evicted: bool) -> Source:
    return Source(
        uid=row.uid,
        host=row.host,
        flavor=row.flavor,
        role=row.role,
        path=row.path,
        session=row.session,
        generation=row.generation,
        state=state_of(row, here, is_evicted=is_evicted),
        size=row.size,
        kept=row.kept,
        read_to=row.read_to,
        lines=row.lines,
        adapter_version=row.adapter_version,
        discovered_at=format_time(row.discovered_at),
        ingested_at=None if row.ingested_at is None else format_time(row.ingested_at),
        redacted_from=row.redacted_from,
    )
