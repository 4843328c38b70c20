"""Run retention. Before anything is evicted, sessions over the hard cap are analyzed, and an
existing lake (the events as Parquet files) is brought up to date.
"""

from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory.core.errors import AnalysisFailed, SessionMemoryError
from session_memory.core.time import format_time, now_ms

if TYPE_CHECKING:
    from session_memory.config import Config
    from session_memory.retain.retention_run import RetentionOutcome
    from session_memory.store import Store
    from session_memory.views.retention import Expiry


NO_CAP = 1 << 62


class RetainResult(msgspec.Struct, frozen=True, kw_only=True):
    """What retention did, or would do. ``expiry`` lists the logs that the agents delete soon.

    ``is_off``: retention is off, and no limit is set or given, so nothing was evicted. A dry run
    then shows what the suggested limits would evict.
    """

    outcome: "RetentionOutcome"
    expiry: "tuple[Expiry, ...]"
    dry_run: bool
    is_off: bool = False

    def to_dict(self) -> dict[str, Any]:
        evicted = [
            {**msgspec.to_builtins(one), "last_at": format_time(one.last_at)}
            for one in self.outcome.gone
        ]
        why = self.outcome.not_shrunk
        return {
            **msgspec.to_builtins(self.outcome.report),
            "dry_run": self.dry_run,
            "is_off": self.is_off,
            "archive": self.outcome.archive,
            "evicted": evicted,
            "expiry": msgspec.to_builtins(self.expiry),
            **({} if why is None else {"not_shrunk": why}),
        }


class DueRetention(msgspec.Struct, frozen=True):
    """Retention after a sync: its outcome, or why it failed. Both are None if it was not due."""

    outcome: "RetentionOutcome | None" = None
    error: str | None = None


def run_retention(
    store: "Store",
    config: "Config",
    *,
    dry_run: bool = False,
    archive: bool | None = None,
) -> "RetentionOutcome":
    """Bring the store within its limits. Sessions over the hard cap are analyzed first.

    A session stays if its archive file would take more space than its eviction frees, unless the
    configuration has ``archive_small``.
    """
    from session_memory.learn.analyze import analyze
    from session_memory.retain import lake
    from session_memory.retain.retention_run import retain

    def analyzed(uids: list[str]) -> None:
        # A session that cannot be analyzed is reported as data loss.
        with suppress(AnalysisFailed):
            analyze(store, uids)

    with nullcontext() if dry_run else store.db.operation_lock(shared=False):
        if not dry_run:
            _renew_lake(store, lake.place(store, config))
        return retain(
            store,
            config,
            now_ms(),
            analyzed,
            dry_run=dry_run,
            archived=archive,
            patient=not config.retention.archive_small,
        )


def limited(config: "Config", max_age_days: int) -> "Config":
    """Return the configuration with this age as a limit; the caps apply only if retention is on."""
    limits = {"raw_max_age_days": max_age_days}
    if config.retention.is_off:
        limits |= {"raw_soft_cap_bytes": NO_CAP, "raw_hard_cap_bytes": NO_CAP}
    retention = msgspec.structs.replace(config.retention, **limits)
    return msgspec.structs.replace(config, retention=retention)


def nothing_evicted(store: "Store") -> "RetentionOutcome":
    """Return the outcome of a run that evicts nothing, because retention is off."""
    from session_memory.retain.retention_run import RetentionOutcome, RetentionReport

    used = store.retention.used_bytes()
    return RetentionOutcome(report=RetentionReport(final_usage_bytes=used))


def run_due_retention(store: "Store", config: "Config") -> DueRetention:
    """Run retention at most once a day, and only if ``after_sync`` is on. After a failure it is
    tried again at the next sync."""
    if not config.retention.after_sync or not store.retention.is_due(now_ms()):
        return DueRetention()
    try:
        return DueRetention(run_retention(store, config))
    except (SessionMemoryError, OSError) as error:
        # The sync itself succeeded, so this must not make it fail.
        return DueRetention(error=str(error))


def _renew_lake(store: "Store", directory: Path | None) -> None:
    """Write the events to an existing lake (Parquet files) before they are evicted."""
    from importlib.util import find_spec

    from session_memory.retain import lake

    if directory is not None and lake.is_there(directory) and find_spec("pyarrow") is not None:
        lake.export(store, directory)
