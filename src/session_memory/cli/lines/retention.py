"""Sentences about retention: which sessions were evicted (moved out of the store), which wait."""

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
    """Print how many evicted sessions an answer about all sessions leaves out, if any."""
    evicted = store.retention.count_evicted()
    if evicted:
        left_out = f"{plural(evicted, 'session')} evicted and left out"
        remark(settings, f"{left_out}. Bring them back: session-memory restore --all")


def end_incomplete(settings: Settings, evicted: int, sentence: str | None = None) -> None:
    """If an answer leaves out ``evicted`` sessions (a number), say so and exit with status 3."""
    if evicted:
        from session_memory.views.evicted import left_out_sentence

        remark(settings, sentence or left_out_sentence(evicted))
        click.get_current_context().exit(PROBLEMS)


def remark_archive(settings: Settings, store: "Store", config: "Config") -> None:
    """Print, after a copy of the store was made, that the copy does not include the archive."""
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
        lines.append("Nothing has to be evicted.")
    elif not (outcome.gone or held):
        lines.append("Nothing can be evicted: what is over the soft cap is pinned or live.")
    elif not outcome.gone:
        lines.append("Nothing can be evicted yet.")
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
            "Digests and lessons take more than distilled_cap_bytes. They are never evicted."
        )
    return lines


def waiting_lines(sessions: int, size_of_them: int) -> "Iterator[str]":
    """Yield a sentence if sessions over the limits must be analyzed before they can be evicted."""
    if sessions:
        verb = "is" if sessions == 1 else "are"
        over = f"{plural(sessions, 'session')} ({size(size_of_them)}) {verb} over the limits"
        yield f"{over} and must be analyzed first: session-memory analyze"


def too_small_lines(sessions: int, size_of_them: int) -> "Iterator[str]":
    """Yield a sentence if sessions over the limits stay, because evicting them frees no space."""
    if sessions:
        what = f"{plural(sessions, 'session')} ({size(size_of_them)}) over the limits"
        stays = "stays" if sessions == 1 else "stay"
        yield f"{what} {stays}: an archive file would take more space than the eviction frees."


def at_risk_lines(store: "Store", config: "Config") -> list[str]:
    """Return a line for each agent that will soon delete logs that are not in the store."""
    from session_memory.views.retention import expiry, expiry_lines

    return list(expiry_lines([one for one in expiry(store, config) if one.at_risk]))


def due_retention_lines(due: "DueRetention") -> list[str]:
    """Return what retention evicted after a sync, or why it failed.

    If nothing was over the limits, there are no lines.
    """
    outcome = due.outcome
    if due.error is not None:
        return [f"Retention did not run: {due.error}."]
    if outcome is None:
        return []
    report = outcome.report
    if not (outcome.gone or report.over_hard_cap or report.waiting_for_analysis):
        return []
    return retention_sentences(outcome)
