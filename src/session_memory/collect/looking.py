"""Find which sources are new, changed, unreadable or gone.

No log is read here. A source is compared with its stored row by size, times and inode.
"""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.databases import PART
from session_memory.collect.batches import ReadTask
from session_memory.collect.database_copies import database_stat, dump_of
from session_memory.collect.discover import Discovered, Root, discover, is_wanted
from session_memory.collect.native import Stat
from session_memory.collect.row_sources import part_stat
from session_memory.collect.run_context import RunContext
from session_memory.core.roles import FIRST_LOGS, TIMELINE
from session_memory.core.text import escaped
from session_memory.derive.readers import reader_of
from session_memory.store.sources import SourceRow

# Stored rows are loaded for this many sources at a time.
AT_ONCE = 500


class Looking:
    """Compares sources with the store, and fills the lists of a sync: tasks, failures and vanished
    sources."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._seen: set[str] = set()
        self._unlisted: set[str] = set()

    def look_below(self, where: list[Root]) -> None:
        """Compare every source below some roots with the store, and note what changed or is
        gone."""
        run, found = self._run, iter(discover(self._run.config, where))
        while some := list(islice(found, AT_ONCE)):
            run.known.load(path for one in some for path in _paths(one))
            for one in some:
                self.look_at(one)
        prefixes = tuple(f"{escaped(str(root.path))}{os.sep}" for root in where if root.exists)
        # A file that is excluded now, or in a directory we may not enter, has not vanished. Neither
        # have the parts of a database that cannot be read.
        gone = [
            source.id
            for source in run.known.expected()
            if source.path.startswith(prefixes)
            and source.path not in self._seen
            and source.path.rpartition(PART)[0] not in self._unlisted
            and _is_gone(source.path)
        ]
        run.vanished += run.known.with_ids(gone)
        read = [row for row in run.vanished if row.ingested_at is not None]
        run.outcome.vanished = sum(row.role in FIRST_LOGS for row in read)

    def look_for(self, where: list[Root], is_asked: Callable[[str], bool]) -> None:
        """Compare only those sources below some roots for whose path ``is_asked`` is true."""
        for found in discover(self._run.config, where):
            if is_asked(str(found.ref.path)):
                self.look_at(found)

    def look_at_paths(self, named: dict[str, Path], flavors: set[str]) -> list[Path]:
        """Look at sources by path. Returns the paths that do not exist, or were not read on this
        machine yet."""
        run, unexplained = self._run, []
        timelines = {name for name, row in run.known.loaded.items() if row.role == TIMELINE}
        for name, path in sorted(named.items(), key=lambda item: item[0] not in timelines):
            row = run.known.get(name)
            is_unread = row is None or row.ingested_at is None or row.is_imported
            if row is None or is_unread or _is_gone(str(path)):
                unexplained.append(path)
            elif row.flavor in flavors and is_wanted(run.config, row.flavor, str(path)):
                ref = SourceRef(path, row.role, row.home_path, row.session, row.agent)
                self.look_at(Discovered(row.flavor, ref))
        return unexplained

    def look_at(self, found: Discovered) -> None:
        """Compare a source and its companions with the store, and note what to read.

        Together they count as one source in the report.
        """
        run, flavor, ref = self._run, found.flavor, found.ref
        run.outcome.report.discovered += 1
        run.outcome.by_flavor[flavor] = run.outcome.by_flavor.get(flavor, 0) + 1
        if isinstance(ref, Unlisted):
            self._seen.add(escaped(str(ref.path)))
            self._unlisted.add(escaped(str(ref.path)))
            run.fail(flavor, ref, ref.reason)
            return
        counted = False
        for part in sorted((ref, *ref.companions), key=lambda part: part.role != TIMELINE):
            try:
                task = self._task(flavor, part)
            except OSError as error:
                run.fail(flavor, part, error.strerror or str(error), counted=not counted)
            else:
                if task is None:
                    continue
                task.counted = not counted
                run.tasks.append(task)
            counted = True
        if not counted:
            run.outcome.report.unchanged += 1

    def _task(self, flavor: str, ref: SourceRef) -> ReadTask | None:
        """Return the task to read a source; None if nothing changed or it must not be read."""
        run, path = self._run, escaped(str(ref.path))
        if path in self._seen:
            raise OSError("another file has the same name once invalid characters are escaped")
        self._seen.add(path)
        stat = _stat(flavor, ref)
        row = run.known.get(path)
        if run.forgotten and run.is_forgotten(flavor, ref, path, row):
            return None
        if row is None or (row.is_imported and not _describes(row, flavor, ref)):
            fresh = run.new_row(flavor, ref, 0 if row is None else row.generation + 1)
            return ReadTask(flavor, ref, fresh, stat, is_new=True, replaces=row)
        if row.ingested_at is None:
            # The source could not be read until now, so its stored row may lack its role and
            # session.
            fresh = run.new_row(flavor, ref, row.generation)
            row = msgspec.structs.replace(fresh, id=row.id, uid=row.uid)
        if stat.matches(row) and not row.vanished:
            return None
        if problem := reader_of(row).problem:
            # An older adapter cannot continue from the cursor of a newer one.
            raise OSError(problem)
        return ReadTask(flavor, ref, row, stat, is_new=False)


def _paths(found: Discovered) -> Iterator[str]:
    """The paths of a source and of its companions, as they are stored."""
    yield escaped(str(found.ref.path))
    if not isinstance(found.ref, Unlisted):
        yield from (escaped(str(part.path)) for part in found.ref.companions)


def _stat(flavor: str, ref: SourceRef) -> Stat:
    """Return size, times and inode of a source, which tell whether it changed."""
    if ref.stamp is not None:
        return part_stat(ref)
    is_database = dump_of(flavor) is not None
    return database_stat(ref.place) if is_database else Stat.of(ref.place.stat())


def _describes(row: SourceRow, flavor: str, ref: SourceRef) -> bool:
    """Whether an imported row has the same flavor, role and names as a file of this machine."""
    names = (escaped(ref.home_path), escaped(ref.session), escaped(ref.agent))
    stated = (row.flavor, row.role, row.home_path, row.session, row.agent)
    return stated == (flavor, ref.role, *names)


def _is_gone(path: str) -> bool:
    try:
        Path(path).lstat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False
