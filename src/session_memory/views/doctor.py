"""The report of ``doctor``: agents' logs, logs that will be deleted, adapters, and the store.

Each check has a text, a status and perhaps a hint. The status is ``ok``, ``warn`` (look at it) or
``bad`` (it does not work).
"""

import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.collect.discover import roots
from session_memory.collect.doctor import adapter_problems, adapter_versions
from session_memory.collect.repository_logs import repository_roots
from session_memory.config import Config, RetentionConfig
from session_memory.core.time import now_ms
from session_memory.derive.evicted import archive_of
from session_memory.derive.readers import unusable_flavors
from session_memory.retain.demo_sources import is_demo_path
from session_memory.store import Store
from session_memory.store.address import is_postgres, shown
from session_memory.store.digests import Digests
from session_memory.store.migrations import NEWEST, version
from session_memory.store.sources import UNREAD
from session_memory.views.expiry import WARNING_DAYS, CollectedLogs, RootState, root_state
from session_memory.views.figures import plural, size
from session_memory.views.outdated import outdated
from session_memory.views.retention import TURN_ON_RETENTION, limits_sentence, over_limits

LITTLE_SPACE = 1 << 30
NO_SPACE = 64 << 20
LARGE_STORE = RetentionConfig().raw_soft_cap_bytes


class Check(msgspec.Struct, frozen=True):
    name: str
    status: str
    text: str
    hint: str | None = None


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    checks: list[Check]
    roots: list[RootState]
    store: dict[str, Any]

    @property
    def worst(self) -> str:
        found = {check.status for check in self.checks}
        return "bad" if "bad" in found else "warn" if "warn" in found else "ok"

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.worst,
            "checks": msgspec.to_builtins(self.checks),
            "roots": msgspec.to_builtins(self.roots),
            "store": self.store,
        }


def log_roots(config: Config, store: Store | None, host: str) -> list[RootState]:
    """Examine the directories with logs of agents: how many logs there are, which the store has."""
    collected = CollectedLogs(store, host)
    now_s = time.time()
    in_repositories = repository_roots(store, config) if store else ()
    own = (one for one in in_repositories if not is_demo_path(str(one.path)))
    where_logs = [*roots(config), *own]
    return [root_state(root, config, collected, now_s) for root in where_logs]


def examine(
    config: Config, where: str, store: Store | None, problem: Check | None, host: str
) -> Diagnosis:
    """Build the report of ``doctor``. Without a ``store``, ``problem`` says why there is none.

    ``where`` is the address of the store, ``host`` the name of this machine.
    """
    path = None if is_postgres(where) else Path(where)
    found = log_roots(config, store, host)
    checks = [*_logs(found), *_expiry(found), *_adapters(config, store)]
    facts: dict[str, Any] = {"path": shown(where), "exists": store is not None}
    if problem is not None:
        checks.append(problem)
    if store is not None:
        facts |= _facts(store)
        checks += [
            *_contents(facts),
            *_permissions(path),
            *_versions(store, facts),
            *_analysis(store, config, facts),
            *_archive(store, config),
        ]
    free = _free_bytes(path)
    checks += _space(free)
    checks += _retention(config.retention, facts, free)
    return Diagnosis(checks=checks, roots=found, store=facts)


def _logs(found: list[RootState]) -> Iterator[Check]:
    for root in found:
        name = f"{root.flavor} logs"
        if not root.exists:
            # A missing default root means an unused agent. A missing root that the user named is a
            # fault.
            if not root.is_default:
                hint = "Correct the root: session-memory config --path"
                yield Check(name, "warn", f"{root.path}: not there", hint)
            continue
        text = f"{root.path}: {plural(root.files, 'file')}, {size(root.bytes)}"
        if root.unreadable:
            text += f", {root.unreadable:,} that cannot be read"
            yield Check(name, "warn", text, "See which: session-memory problems")
        else:
            yield Check(name, "ok", text)
    there = {root.flavor for root in found if root.exists or not root.is_default}
    if missing := sorted({root.flavor for root in found} - there):
        yield Check("not found", "ok", ", ".join(missing))
    if not any(root.files for root in found):
        hint = "Try it on invented sessions: session-memory demo"
        yield Check("logs", "warn", "no agent has left logs here", hint)


def _expiry(found: list[RootState]) -> Iterator[Check]:
    for root in found:
        if root.retention_days is None or not root.files:
            continue
        name, days = f"{root.flavor} expiry", root.retention_days
        if not root.expiring:
            yield Check(
                name, "ok", f"keeps {days} days; deletes nothing within {WARNING_DAYS} days"
            )
            continue
        lost, count = root.at_risk, len(root.expiring)
        text = f"keeps {days} days; deletes {plural(count, 'file')} within {WARNING_DAYS} days"
        if not lost:
            yield Check(name, "ok", f"{text}, all of them kept whole in the store")
        else:
            text += f", {len(lost):,} of them ({size(sum(f.bytes for f in lost))}) not kept yet"
            yield Check(name, "warn", text, "Keep them now: session-memory sync")


def _adapters(config: Config, store: Store | None) -> Iterator[Check]:
    """Warn of adapters that cannot be used, and of sessions in the store that have no adapter."""
    broken = adapter_problems(config)
    for flavor, reason in broken.items():
        hint = "Update or remove the package that brings it; all other agents are collected."
        yield Check(f"{flavor} adapter", "warn", reason, hint)
    for flavor, reason in (unusable_flavors(store) if store is not None else {}).items():
        if flavor not in broken:
            text = f"sessions of {flavor} are in the store: {reason}"
            hint = "They can be read. To collect or rebuild them, install the adapter's package."
            yield Check(f"{flavor} adapter", "warn", text, hint)


def _facts(store: Store) -> dict[str, Any]:
    raw, compressed = store.raw.stored_bytes()
    return {
        "sessions": store.sessions.count(),
        "events": store.events.count(),
        "problems": store.problems.count(),
        "waiting_for_analysis": Digests(store.db).count_waiting(),
        "bytes": store.db.bytes_on_disk(),
        "raw_bytes": raw,
        "compressed_bytes": compressed,
        "schema": version(store.db),
        "adapters": adapter_versions(),
    }


def _contents(facts: dict[str, Any]) -> Iterator[Check]:
    text = f"{plural(facts['sessions'], 'session')}, {plural(facts['events'], 'event')}"
    sizes = f"{size(facts['bytes'])} for {size(facts['raw_bytes'])} of logs"
    yield Check("store", "ok", f"{facts['path']}: {text}, {sizes}")
    if count := facts["problems"]:
        # This is no warning, because nobody can repair a broken line of a log.
        text = f"{plural(count, 'piece')} of bad input, kept as found: session-memory problems"
        yield Check("problems", "ok", text)


OUR_DIRECTORY = ".session-memory"


def _permissions(path: Path | None) -> Iterator[Check]:
    if path is None:
        # The store is in a PostgreSQL server, whose files are not ours.
        return
    files = [path, *(Path(f"{path}{end}") for end in ("-wal", "-shm", ".lock"))]
    modes = [(file, stat.S_IMODE(file.stat().st_mode)) for file in files if file.exists()]
    if path.parent.name == OUR_DIRECTORY:
        # Any other directory belongs to the user, and the store file in it is private anyway.
        modes.append((path.parent, stat.S_IMODE(path.parent.stat().st_mode)))
    fine = True
    for file, mode in modes:
        if mode & 0o077:
            fine = False
            want = "700" if file == path.parent else "600"
            text = f"{file} has mode {mode:03o}: others on this machine may read it"
            yield Check("permissions", "warn", text, f"chmod {want} {file}")
    if fine:
        yield Check("permissions", "ok", "the store is readable by you alone")


def _versions(store: Store, facts: dict[str, Any]) -> Iterator[Check]:
    adapters: dict[str, int] = facts["adapters"]
    named = ", ".join(f"{flavor} {number}" for flavor, number in sorted(adapters.items()))
    yield Check("versions", "ok", f"schema {facts['schema']} of {NEWEST}, adapters: {named}")
    here = store.sources.read_by_version()
    unread = sum(count for _, read_by, count in here if read_by == UNREAD)
    if unread:
        text = f"a rebuild was stopped: {plural(unread, 'source')} still to be read"
        yield Check("rebuild", "warn", text, "Go on with it: session-memory store rebuild")
        return
    older = sum(count for flavor, read_by, count in here if read_by < adapters.get(flavor, 0))
    if older:
        text = f"{plural(older, 'source')} read by an older adapter"
        yield Check("rebuild", "warn", text, "Read them again: session-memory store rebuild")


ANALYZE = "Analyze them: session-memory analyze, or always: session-memory service install --start"


def _analysis(store: Store, config: Config, facts: dict[str, Any]) -> Iterator[Check]:
    """Say how many sessions wait for analysis. It is a warning only if retention waits for them,
    or if digests (results of analyses) are outdated."""
    if waiting := facts["waiting_for_analysis"]:
        verb = "waits" if waiting == 1 else "wait"
        text = f"{waiting:,} of {plural(facts['sessions'], 'session')} {verb} for analysis"
        over = over_limits(store, config, now_ms()) if config.retention.after_sync else 0
        if over:
            text += f"; {over:,} of them over the limits of retention"
        yield Check("analysis", "warn" if over else "ok", text, ANALYZE)
    if count := outdated(store):
        text = f"{plural(count, 'digest')} made by an older version"
        yield Check("analysis", "warn", text, "Make them again: session-memory analyze")


def _archive(store: Store, config: Config) -> Iterator[Check]:
    """Check that the archive files with evicted sessions exist. Their content is not read."""
    files = {one.file for one in store.retention.evicted().values() if one.file is not None}
    archive = archive_of(store, config)
    if not files or archive is None:
        return
    gone = sorted(files - {file.name for file in archive.files()})
    if gone:
        text = f"{len(gone)} of {plural(len(files), 'file')} with evicted sessions not found in"
        hint = 'Put them back, or name their place: [retention] archive_dir = "…"'
        yield Check("archive", "warn", f"{text} {archive.directory}: {gone[0]}", hint)
    else:
        yield Check("archive", "ok", f"{archive.directory}: {plural(len(files), 'file')}")


def _free_bytes(path: Path | None) -> "tuple[Path, int] | None":
    """Return the directory of the store and its free bytes; None for a store in a server."""
    if path is None:
        return None
    place = next(parent for parent in path.absolute().parents if parent.exists())
    return place, shutil.disk_usage(place).free


def _space(found: "tuple[Path, int] | None") -> Iterator[Check]:
    if found is None:
        return
    place, free = found
    status = "bad" if free < NO_SPACE else "warn" if free < LITTLE_SPACE else "ok"
    hint = None if status == "ok" else "Free some space, or move the store: SESSION_MEMORY_STORE"
    yield Check("disk", status, f"{size(free)} free at {place}", hint)


def _retention(
    limits: RetentionConfig, facts: dict[str, Any], space: "tuple[Path, int] | None"
) -> Iterator[Check]:
    """Report whether retention is on. If not, and the store is large or the disk nearly full,
    suggest to turn it on."""
    if "bytes" not in facts:
        return
    if limits.after_sync:
        yield Check("retention", "ok", limits_sentence(limits))
    elif facts["bytes"] > LARGE_STORE:
        text = f"off, and the store has {size(facts['bytes'])}"
        yield Check("retention", "warn", text, TURN_ON_RETENTION)
    elif space is not None and space[1] < LITTLE_SPACE:
        text = f"off, and only {size(space[1])} are free; an archive can be on another disk"
        yield Check("retention", "warn", text, TURN_ON_RETENTION)
    else:
        yield Check("retention", "ok", "off: nothing is evicted")
