"""What the operations of a memory return; ``to_dict()`` is what ``--json`` prints."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from session_memory.collect.discover import Root
    from session_memory.collect.sync_report import SyncOutcome
    from session_memory.learn.analyze import Analyzed
    from session_memory.memory.retention import DueRetention
    from session_memory.retain.native_files import DamagedLog
    from session_memory.retain.verification import CheckedCount, VerifyReport


# The fields that ``sync --json`` always prints.
PRINTED = (
    "discovered",
    "ingested",
    "unchanged",
    "failed",
    "problems",
    "sessions",
    "events",
    "bytes",
    "seconds",
)


class SyncResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync did.

    - ``discovered``, ``ingested``, ``unchanged``, ``failed``: numbers of sources; the first is the
      sum of the others, except after a dry run. ``by_flavor``: the discovered sources of each agent
    - ``problems``: all open problems; ``new_problems``: those of this run
    - ``changed``: the uids of the sessions that are new or grew
    - ``vanished``: how many logs were deleted since the last sync
    - ``roots``: the directories that were looked in
    - ``retention``: what was evicted afterwards
    - ``demo_removed``: how many demo sessions of an older version were removed from this store
    - ``broken_adapters``: the adapters that could not be used or failed, with the reason
    """

    discovered: int
    ingested: int
    unchanged: int
    failed: int
    problems: int
    sessions: int
    events: int
    bytes: int
    seconds: float
    new_problems: int
    vanished: int
    changed: tuple[str, ...]
    roots: "tuple[Root, ...]"
    broken_adapters: Mapping[str, str]
    retention: "DueRetention | None" = None
    demo_removed: int = 0
    by_flavor: Mapping[str, int] = {}

    @classmethod
    def of(
        cls,
        outcome: "SyncOutcome",
        retention: "DueRetention | None" = None,
        *,
        demo_removed: int = 0,
    ) -> "SyncResult":
        return cls(
            **msgspec.structs.asdict(outcome.report),
            new_problems=outcome.new_problems,
            vanished=outcome.vanished,
            changed=tuple(outcome.touched),
            roots=tuple(outcome.roots),
            retention=retention,
            demo_removed=demo_removed,
            broken_adapters=outcome.broken_adapters,
            by_flavor=outcome.by_flavor,
        )

    def to_dict(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self.broken_adapters:
            more["adapters"] = dict(self.broken_adapters)
        if self.demo_removed:
            more["demo_removed"] = self.demo_removed
        return {name: getattr(self, name) for name in PRINTED} | more


class AnalysisResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an analysis did: how many sessions it read, how many were up to date, what it found."""

    analyzed: int
    unchanged: int
    events: int
    errors: int
    signals: int
    outcomes: Mapping[str, int]

    @classmethod
    def of(cls, done: "Analyzed") -> "AnalysisResult":
        return cls(**msgspec.structs.asdict(done))

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class VerifyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` read back and compared. ``findings`` say what is wrong; ``ok`` if none.

    ``skipped`` names the agents whose sessions were not derived again, each with the reason.
    ``checked`` says for each kind of data how many of all were checked."""

    ok: bool
    packs: int
    bytes: int
    sessions: int
    evicted: int
    findings: tuple[str, ...]
    skipped: Mapping[str, str]
    checked: "Mapping[str, CheckedCount]"

    @classmethod
    def of(cls, verified: "VerifyReport") -> "VerifyResult":
        return cls(
            ok=not verified.findings,
            packs=verified.packs,
            bytes=verified.bytes,
            sessions=verified.sessions,
            evicted=verified.evicted,
            findings=tuple(verified.findings),
            skipped=verified.skipped,
            checked=verified.checked,
        )

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class BackupResult(msgspec.Struct, frozen=True):
    """The copy of the store, and its size in bytes."""

    path: Path
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return {"path": str(self.path), "bytes": self.bytes}


class ExportResult(msgspec.Struct, frozen=True, kw_only=True):
    """The file that was written. ``sources`` is the number of logs in a portable file;
    ``sessions`` is the number of sessions in a transcript. ``damaged`` logs were left out, and
    ``evicted`` sessions too if all were to be written."""

    path: Path
    format: str
    bytes: int
    sources: int | None = None
    sessions: int | None = None
    damaged: "tuple[DamagedLog, ...]" = ()
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        if self.sources is not None:
            more = {"evicted": self.evicted} if self.evicted else {}
            return {"path": str(self.path), "sources": self.sources, "bytes": self.bytes, **more}
        figures = {"sessions": self.sessions, "bytes": self.bytes}
        return {"path": str(self.path), "format": self.format, **figures}
