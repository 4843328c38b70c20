"""Retention on the command line: what a run did in a few sentences, and the run after a sync."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from session_memory.collect.watch_events import Happening
    from session_memory.config import Config
    from session_memory.retain.retention_run import RetentionOutcome
    from session_memory.store import Store

WHY = {
    "age": "older than the limit",
    "soft cap": "over the soft cap",
    "hard cap": "over the hard cap, analyzed first",
    "data loss": "over the hard cap and never analyzed: DATA LOSS",
}


def run_retention(
    store: "Store", config: "Config", *, dry_run: bool = False, archived: bool | None = None
) -> "RetentionOutcome":
    """One run; what has to be analyzed at the hard cap is analyzed now."""
    from session_memory.core.time import now_ms
    from session_memory.learn.analyze import analyze
    from session_memory.retain import lake
    from session_memory.retain.retention_run import retain

    store.own_prices = lambda: config.prices
    with nullcontext() if dry_run else store.db.operation_lock(shared=False):
        if not dry_run:
            _renew_lake(store, lake.place(store, config))
        return retain(
            store,
            config,
            now_ms(),
            lambda uids: analyze(store, uids),
            dry_run=dry_run,
            archived=archived,
        )


def _renew_lake(store: "Store", directory: Any) -> None:
    """Whoever has a lake wants the events in it before they go."""
    from importlib.util import find_spec

    from session_memory.retain import lake

    if lake.is_there(directory) and find_spec("pyarrow") is not None:
        lake.export(store, directory)


def remark_evicted(settings: Settings, store: "Store") -> None:
    """Say that an answer about everything is without what was evicted."""
    evicted = store.retention.count_evicted()
    if evicted:
        count = plural(evicted, "session")
        remark(settings, f"Without {count} evicted: session-memory restore brings them back.")


def remark_archive(settings: Settings, store: "Store", config: "Config") -> None:
    """A copy of a store has no archive of its own."""
    from session_memory.derive.evicted import archive_of

    evicted, archive = store.retention.count_evicted(), archive_of(store, config)
    if evicted and archive is not None:
        count, place = plural(evicted, "session"), archive.directory
        told = f"{count} evicted: their archive stays in {place}."
        remark(settings, f'{told} The copy finds it with [retention] archive_dir = "{place}".')


def retention_sentences(outcome: "RetentionOutcome", *, dry_run: bool = False) -> list[str]:
    report, would = outcome.report, "would be " if dry_run else ""
    lines = []
    for why, meaning in WHY.items():
        gone = [one for one in outcome.gone if one.why == why]
        if gone:
            sessions = plural(sum(len(one.sessions) for one in gone), "session")
            freed = size(sum(one.bytes for one in gone))
            lines.append(f"{sessions} {would}evicted ({freed}): {meaning}.")
    if not outcome.gone:
        lines.append("Nothing has to go.")
    elif outcome.archive:
        lines.append(f"Their raw {'would go' if dry_run else 'went'} into {outcome.archive}.")
    else:
        lines.append(f"Their raw {'would be' if dry_run else 'is'} gone for good.")
    if report.over_hard_cap:
        lines.append("The store is still over its hard cap: what is left is pinned.")
    if report.tier2_over_cap:
        lines.append(
            "Digests and lessons take more than distilled_cap_bytes; nothing of them goes."
        )
    return lines


def after_sync(store: "Store", config: "Config", *, failed: bool) -> list[str]:
    """Retention once a day, after a sync; what there is to say about it, and about logs that
    could not be read and will be deleted soon."""
    return [*_due_retention(store, config), *(_at_risk(store, config) if failed else [])]


def retain_beside(settings: Settings, config: "Config", happening: "Happening") -> None:
    """The same beside a watch, whenever it has looked at everything."""
    from session_memory.collect.watch_events import Synced
    from session_memory.core.errors import StoreError

    if not (isinstance(happening, Synced) and happening.whole):
        return
    try:
        with settings.opened(config) as store:
            lines = _due_retention(store, config)
    except StoreError as error:
        # The watch itself says what is wrong with the store, and waits for it.
        lines = [f"Retention did not run: {error}."]
    for line in lines:
        remark(settings, line)


def _at_risk(store: "Store", config: "Config") -> list[str]:
    from session_memory.views.retention import expiry, expiry_lines

    return list(expiry_lines([one for one in expiry(store, config) if one.at_risk]))


def _due_retention(store: "Store", config: "Config") -> list[str]:
    from session_memory.core.errors import SessionMemoryError
    from session_memory.core.time import now_ms

    limits = config.retention
    if not limits.after_sync or not store.retention.is_due(now_ms()):
        return []
    try:
        outcome = run_retention(store, config)
    except (SessionMemoryError, OSError) as error:
        # The sync itself went well; what did not is said, and tried again the next time.
        return [f"Retention did not run: {error}."]
    return retention_sentences(outcome) if outcome.gone or outcome.report.over_hard_cap else []
