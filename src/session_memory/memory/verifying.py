"""Check a store, its digests, and its archive if that is on this machine."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session_memory.config import Config
    from session_memory.retain.verification import VerifyReport
    from session_memory.store import Store


def verify_all(
    store: "Store",
    config: "Config",
    sample: int | None,
    on_source: Callable[[int], None],
    on_session: Callable[[int, int], None],
) -> "VerifyReport":
    from session_memory.learn.digest_check import check_digests
    from session_memory.retain.verification import verify

    report = verify(store, sample, on_source, on_session)
    with report.past_damage("digests"):
        digests = check_digests(store, report.sampled)
        report.count("digests", digests.read, digests.all)
        report.count("digests_made_again", digests.compared, digests.all)
        for finding in digests.findings:
            report.find(finding)
    if report.evicted:
        with report.past_damage("archive"):
            _check_archive(store, config, report)
    return report


def _check_archive(store: "Store", config: "Config", report: "VerifyReport") -> None:
    """Read the archive back, unless it is on another machine or a disk that is not mounted."""
    from session_memory.derive.evicted import archive_of
    from session_memory.retain.archive_check import check_archive

    archive = archive_of(store, config)
    archived = sum(one.file is not None for one in store.retention.evicted().values())
    if archive is None or not archive.directory.is_dir():
        report.count("archive", 0, archived)
        return
    check = check_archive(store, config)
    report.count("archive", check.sources, archived)
    for finding in check.findings:
        report.find(finding)
