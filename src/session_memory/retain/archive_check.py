"""Check that the archive is intact and holds every evicted source."""

import msgspec

from session_memory.config import Config
from session_memory.derive.evicted import archive_of
from session_memory.retain.evict import require_archive
from session_memory.store.store import Store


class ArchiveCheck(msgspec.Struct, kw_only=True):
    files: int = 0
    sources: int = 0
    findings: list[str] = []


def check_archive(store: Store, config: Config) -> ArchiveCheck:
    """Read every archive file and look for every evicted source.

    A source that was evicted without an archive is not a finding.
    """
    archive, result = require_archive(archive_of(store, config)), ArchiveCheck()
    held: dict[str, set[tuple[str, str]]] = {}
    for file in archive.files():
        result.files += 1
        damage = archive.check(file)
        result.findings += damage
        if not damage:
            sources = archive.manifest(file).sources
            held[file.name] = {(one.source.uid, one.digest) for one in sources}
    for source_id, eviction in store.retention.evicted().items():
        if eviction.file is None:
            continue
        result.sources += 1
        row = store.sources.get(source_id)
        if (row.uid, eviction.digest) not in held.get(eviction.file, set()):
            result.findings.append(f"{row.path} is not in {eviction.file}")
    return result
