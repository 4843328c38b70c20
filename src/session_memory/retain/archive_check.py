"""Whether everything that was evicted is in the archive, whole."""

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
    """Every file read back, and every evicted source looked for; what was lost is no finding."""
    archive, found = require_archive(archive_of(store, config)), ArchiveCheck()
    held: dict[str, set[tuple[str, str]]] = {}
    for file in archive.files():
        found.files += 1
        damage = archive.check(file)
        found.findings += damage
        if not damage:
            sources = archive.manifest(file).sources
            held[file.name] = {(one.source.uid, one.digest) for one in sources}
    for source_id, away in store.retention.evicted().items():
        if away.file is None:
            continue
        found.sources += 1
        row = store.sources.get(source_id)
        if (row.uid, away.digest) not in held.get(away.file, set()):
            found.findings.append(f"{row.path}: it is not in {away.file}")
    return found
