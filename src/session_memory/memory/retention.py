"""Running retention: sessions over the hard cap are analyzed, and an existing lake is renewed.

Both happen before anything is evicted.
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


class RetainResult(msgspec.Struct, frozen=True, kw_only=True):
    """What retention did, or would do. ``expiry`` lists the logs that the agents delete soon."""

    outcome: "RetentionOutcome"
    expiry: "tuple[Expiry, ...]"
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        evicted = [
            {**msgspec.to_builtins(one), "last_at": format_time(one.last_at)}
            for one in self.outcome.gone
        ]
        why = self.outcome.not_shrunk
        return {
            **msgspec.to_builtins(self.outcome.report),
            "dry_run": self.dry_run,
            "archive": self.outcome.archive,
            "evicted": evicted,
            "expiry": msgspec.to_builtins(self.expiry),
            **({} if why is None else {"not_shrunk": why}),
        }


class DueRetention(msgspec.Struct, frozen=True):
    """Retention after a sync: its outcome, or why it failed; neither if it was not due."""

    outcome: "RetentionOutcome | None" = None
    error: str | None = None


def run_retention(
    store: "Store",
    config: "Config",
    *,
    dry_run: bool = False,
    archive: bool | None = None,
    patient: bool = False,
) -> "RetentionOutcome":
    """Bring the store within its bounds. Sessions over the hard cap are analyzed first.

    With ``patient``, old sessions wait until an archive file is worth its size.
    """
    from session_memory.learn.analyze import analyze
    from session_memory.retain import lake
    from session_memory.retain.retention_run import retain

    def analyzed(uids: list[str]) -> None:
        # What cannot be analyzed is reported as data loss.
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
            patient=patient,
        )


def run_due_retention(store: "Store", config: "Config") -> DueRetention:
    """Retention once a day, unless ``after_sync`` is off. A failure is tried again next time."""
    if not config.retention.after_sync or not store.retention.is_due(now_ms()):
        return DueRetention()
    try:
        return DueRetention(run_retention(store, config, patient=True))
    except (SessionMemoryError, OSError) as error:
        # The sync itself succeeded, so this must not make it fail.
        return DueRetention(error=str(error))


def _renew_lake(store: "Store", directory: Path | None) -> None:
    """Write the events to an existing lake before they are evicted."""
    from importlib.util import find_spec

    from session_memory.retain import lake

    if directory is not None and lake.is_there(directory) and find_spec("pyarrow") is not None:
        lake.export(store, directory)
