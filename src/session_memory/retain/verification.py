"""Verify a store: check all hashes and sums, and derive sessions again to compare.

Every check goes on past damage, so that one bad page does not hide the rest.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from session_memory.core.errors import AdapterFailed, AdapterUnusable, StoreDamaged
from session_memory.derive.connected import connected_sessions
from session_memory.derive.forgotten import Forgotten
from session_memory.derive.raw_source import stored_records
from session_memory.derive.readers import unusable_flavors
from session_memory.retain.native_files import sessions_of_log
from session_memory.retain.verify_figures import check_figures
from session_memory.retain.verify_sample import check_sample, check_words, sample_of
from session_memory.store.damage import is_unreadable_value, missing_names
from session_memory.store.live_check import live_findings, live_message_findings
from session_memory.store.raw import Pack
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

_EVENT_COUNTS = "select session_id, count(*) from events group by session_id"
_LIVE_MESSAGES = "select count(*) from live_messages"


class CheckedCount(msgspec.Struct, frozen=True):
    """How many of all were checked."""

    checked: int = 0
    of: int = 0


class VerifyReport(msgspec.Struct, kw_only=True):
    """What was checked, and the faults as ``findings``. No faults means an empty list.

    ``checked`` says for each kind of data how many of all were checked. ``sampled`` are the
    sessions that were derived again. ``skipped`` maps flavors to the reason why their sessions were
    not derived again: the adapter is missing, too old or broken. Their stored logs were checked.
    """

    packs: int = 0
    bytes: int = 0
    sessions: int = 0
    evicted: int = 0
    findings: list[str] = []
    skipped: dict[str, str] = {}
    checked: dict[str, CheckedCount] = {}
    sampled: list[str] = []

    def count(self, what: str, checked: int, of: int | None = None) -> None:
        """Count what was checked of a kind of data. Without ``of``, all of it was checked."""
        before = self.checked.get(what, CheckedCount())
        total = before.of + (checked if of is None else of)
        self.checked[what] = CheckedCount(before.checked + checked, total)

    def find(self, finding: str) -> None:
        if finding not in self.findings:
            self.findings.append(finding)

    @contextmanager
    def past_damage(self, what: str) -> Iterator[None]:
        """Make a finding of data that cannot be read in the ``with`` block, and go on after it."""
        try:
            yield
        except StoreDamaged as error:
            self.find(str(error) if not what else f"{what}: {error}")
        except Exception as error:
            if not is_unreadable_value(error):
                raise
            self.find(f"{what or 'the store'}: a stored value cannot be read: {error}")


def verify(
    store: Store,
    sample: int | None = 20,
    on_source: Callable[[int], None] = lambda size: None,
    on_session: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Read and hash everything again, and derive ``sample`` sessions again to compare.

    The sample is a new random one each time; None takes all sessions. ``on_source`` is called with
    the size of each log that was read, ``on_session`` with how many sessions of the sample were
    derived, and how many there are.
    """
    report = VerifyReport()
    with report.past_damage(""):
        report.findings += store.db.check()
    with store.db.snapshot():
        _check_logs(store, on_source, report)
        for check in (_check_accounts, _check_sums, _check_events, _check_live, _check_tombstones):
            with report.past_damage(""):
                check(store, report)
        with report.past_damage(""):
            report.sampled = sample_of(store, sample, report)
            check_sample(store, report, on_session)
            check_words(store, report)
        with report.past_damage(""):
            check_figures(store, report)
    return report


def _check_logs(store: Store, on_source: Callable[[int], None], report: VerifyReport) -> None:
    with report.past_damage(""):
        report.skipped = unusable_flavors(store)
        evicted = store.retention.evicted()
        report.evicted = store.retention.count_evicted()
        rows = store.sources.every()
        report.count("logs", 0, len(rows))
        for row in rows:
            with report.past_damage(row.path):
                start = store.retention.evicted_up_to(row.id, row.kept) if row.id in evicted else 0
                _check_raw(store, row, start, report)
                report.count("logs", 1, 0)
            on_source(row.kept)


def _check_raw(store: Store, row: SourceRow, evicted_up_to: int, report: VerifyReport) -> None:
    """Check that the packs of a log follow each other without a gap, and that their hashes
    match."""
    place = evicted_up_to
    for pack in store.raw.packs(row.id):
        report.packs += 1
        report.bytes += pack.length
        if pack.start != place:
            _find_in_log(store, row, f"bytes {place} to {pack.start} are missing", report)
        place = pack.start + pack.length
        _unpack(store, row, pack, report)
    if place != row.kept:
        _find_in_log(store, row, f"{row.kept} bytes were kept, {place} are there", report)


def _unpack(store: Store, row: SourceRow, pack: Pack, report: VerifyReport) -> None:
    try:
        store.raw.unpacked(row.id, pack)
    except StoreDamaged as error:
        _find_in_log(store, row, str(error), report)


def _find_in_log(store: Store, row: SourceRow, what: str, report: VerifyReport) -> None:
    """Add a fault of a stored log to the report, with the sessions that are derived from the
    log."""
    sessions = ", ".join(sessions_of_log(store, row))
    report.find(f"{row.path} ({sessions}): {what}" if sessions else f"{row.path}: {what}")


def _check_accounts(store: Store, report: VerifyReport) -> None:
    paths = {row.id: row.path for row in store.sources.every()}
    stale = {s for session in store.sessions.stale() for s in store.sessions.source_ids(session)}
    for source_id, account in store.sources.account().items():
        if account.unaccounted and source_id not in stale:
            missing = account.unaccounted
            report.find(f"{paths[source_id]}: {missing} lines are not accounted for")


def _check_sums(store: Store, report: VerifyReport) -> None:
    """Check that the tokens of each session are the sum of its usage, and that none is stale.

    Only an evicted session with new lines may be stale.
    """
    for uid in store.sessions.uids():
        with report.past_damage(uid):
            row = store.sessions.row(uid)
            if row is None:
                continue
            report.count("usage", 1)
            if row.stale and row.evicted_at is None:
                if not _waits_for_adapter(store, row, report):
                    report.find(f"{uid}: a sync was interrupted; run: session-memory sync")
            elif tuple(getattr(row, name) for name in BUCKETS) != store.usage.sums(row.id):
                report.find(f"{uid}: its token counts are not the sum of its usage")


def _waits_for_adapter(store: Store, row: CollectedSession, report: VerifyReport) -> bool:
    """Whether a session is stale because no adapter can read it."""
    try:
        for session_id in connected_sessions(store, row.id):
            for source in store.sources.read_by(session_id):
                for _ in stored_records(store, source):
                    pass
    except (AdapterUnusable, AdapterFailed) as failure:
        report.skipped.setdefault(row.flavor, str(failure))
        return True
    return False


def _check_events(store: Store, report: VerifyReport) -> None:
    """Check the number of events of each session, and that every number of a name has a name."""
    report.findings += [
        f"{finding}; run: session-memory store rebuild" for finding in missing_names(store.db)
    ]
    counts: dict[int, int] = {row[0]: row[1] for row in store.db.all(_EVENT_COUNTS)}
    for uid in store.sessions.uids():
        row = store.sessions.row(uid)
        if row is None or row.stale or row.evicted_at is not None:
            continue
        found = counts.get(row.id, 0)
        report.count("events", found, row.event_count)
        if found != row.event_count:
            message = f"{uid}: {found} of {row.event_count} events are there"
            report.find(f"{message}; run: session-memory store rebuild")


def _check_live(store: Store, report: VerifyReport) -> None:
    for finding in live_findings(store.db):
        report.find(finding)
    for finding in live_message_findings(store.db):
        report.find(finding)
    report.count("live_messages", int(store.db.value(_LIVE_MESSAGES)))


def _check_tombstones(store: Store, report: VerifyReport) -> None:
    """Check that no forgotten session is in the store."""
    forgotten = Forgotten(store)
    for uid in store.sessions.uids() if forgotten else ():
        row = store.sessions.row(uid)
        report.count("tombstones", 1)
        if row is not None and forgotten.holds_session(row.flavor, row.native_id):
            report.find(f"{uid} was forgotten and is there again; run: session-memory forget {uid}")
