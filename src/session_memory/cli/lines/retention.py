"""What retention did, in a few sentences."""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session_memory.config import Config
    from session_memory.memory.retention import DueRetention
    from session_memory.retain.retention_run import RetentionOutcome
    from session_memory.store import Store

STAYS = "what is left is pinned, restored lately, live, or too small"
WHY = {
    "age": "older than the limit",
    "soft cap": "over the soft cap",
    "hard cap": "over the hard cap, analyzed first",
    "data loss": "over the hard cap and never analyzed: DATA LOSS",
}


def remark_evicted(settings: Settings, store: "Store") -> None:
    """Print a remark that an answer about all sessions leaves out the evicted ones."""
    evicted = store.retention.count_evicted()
    if evicted:
        count = plural(evicted, "session")
        remark(settings, f"{count} evicted and left out. Bring them back: session-memory restore")


def end_incomplete(settings: Settings, evicted: int, sentence: str | None = None) -> None:
    """If an answer was made without evicted sessions, say so and end with status 3."""
    if evicted:
        from session_memory.views.evicted import left_out_sentence

        remark(settings, sentence or left_out_sentence(evicted))
        click.get_current_context().exit(PROBLEMS)


def remark_archive(settings: Settings, store: "Store", config: "Config") -> None:
    """Print where the archive is: a copy of a store does not include it."""
    from session_memory.derive.evicted import archive_of

    evicted, archive = store.retention.count_evicted(), archive_of(store, config)
    if evicted and archive is not None:
        count, place = plural(evicted, "session"), archive.directory
        words = f"{count} evicted: their archive stays in {place}."
        remark(settings, f'{words} The copy finds it with [retention] archive_dir = "{place}".')


def retention_sentences(outcome: "RetentionOutcome", *, dry_run: bool = False) -> list[str]:
    report, would = outcome.report, "would be " if dry_run else ""
    lines = []
    for why, meaning in WHY.items():
        gone = [one for one in outcome.gone if one.why == why]
        if gone:
            sessions = plural(sum(len(one.sessions) for one in gone), "session")
            freed = size(sum(one.bytes for one in gone))
            lines.append(f"{sessions} {would}evicted ({freed}): {meaning}.")
    held = report.waiting_for_analysis or report.too_small
    if not (outcome.gone or held or report.over_soft_cap):
        lines.append("Nothing has to go.")
    elif not (outcome.gone or held):
        lines.append("Nothing can go: what is over the soft cap is pinned or live.")
    elif not outcome.gone:
        lines.append("Nothing can go yet.")
    elif outcome.archive:
        place = short_path(outcome.archive)
        lines.append(f"Their logs {'would go' if dry_run else 'went'} into {place}.")
    else:
        lines.append(f"Their logs {'would be' if dry_run else 'were'} deleted for good.")
    lines += waiting_lines(report.waiting_for_analysis, report.waiting_bytes)
    lines += too_small_lines(report.too_small, report.too_small_bytes)
    if outcome.not_shrunk:
        compact = "session-memory store compact"
        lines.append(f"Their space is not free yet: {outcome.not_shrunk}. Run: {compact}")
    if report.over_hard_cap:
        lines.append(f"The store is still over its hard cap: {STAYS}.")
    if report.tier2_over_cap:
        lines.append(
            "Digests and lessons take more than distilled_cap_bytes; nothing of them goes."
        )
    return lines


def waiting_lines(sessions: int, size_of_them: int) -> "Iterator[str]":
    """What is over the limits and must be analyzed before it can be evicted."""
    if sessions:
        verb = "is" if sessions == 1 else "are"
        over = f"{plural(sessions, 'session')} ({size(size_of_them)}) {verb} over the limits"
        yield f"{over} and must be analyzed first: session-memory analyze"


def too_small_lines(sessions: int, size_of_them: int) -> "Iterator[str]":
    """What is over the limits and stays, because evicting it would make the whole larger."""
    if sessions:
        what = f"{plural(sessions, 'session')} ({size(size_of_them)}) over the limits"
        stays = "stays" if sessions == 1 else "stay"
        yield f"{what} {stays}: an archive file would take more space than that frees."


def at_risk_lines(store: "Store", config: "Config") -> list[str]:
    """Logs that could not be read and that their agent will delete soon."""
    from session_memory.views.retention import expiry, expiry_lines

    return list(expiry_lines([one for one in expiry(store, config) if one.at_risk]))


def due_retention_lines(due: "DueRetention") -> list[str]:
    """What retention after a sync evicted, or why it failed; no lines if nothing was over the
    limits."""
    outcome = due.outcome
    if due.error is not None:
        return [f"Retention did not run: {due.error}."]
    if outcome is None:
        return []
    report = outcome.report
    if not (outcome.gone or report.over_hard_cap or report.waiting_for_analysis):
        return []
    return retention_sentences(outcome)
