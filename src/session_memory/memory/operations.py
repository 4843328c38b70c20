"""The methods of `Memory` that collect, analyze, evict, check, copy and export sessions."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.core.choices import one_of
from session_memory.core.roles import ALL_ROLES
from session_memory.memory.arguments import Names
from session_memory.memory.base import OpenMemory
from session_memory.memory.checks import (
    a_flag,
    a_function,
    a_path,
    checked_limit,
    maybe_count,
    maybe_text,
    names,
    paths,
    seconds,
)
from session_memory.memory.results import (
    AnalysisResult,
    BackupResult,
    ExportResult,
    SyncResult,
    VerifyResult,
)

if TYPE_CHECKING:
    from session_memory.collect.discover import Root
    from session_memory.collect.stop_flag import StopFlag
    from session_memory.collect.watch import Watch
    from session_memory.memory.follow import Follow
    from session_memory.memory.live_imports import LiveImportResult
    from session_memory.memory.progress import OnProgress
    from session_memory.memory.retention import RetainResult
    from session_memory.views.problems import ProblemList
    from session_memory.views.sources import SourceList

Roots = str | Path | Iterable[str | Path]


class Operations(OpenMemory):
    """Methods of `Memory` that collect sessions, and that change, check or copy the store."""

    def sync(
        self,
        roots: Roots | None = None,
        *,
        flavors: Names | None = None,
        redact: bool = False,
        dry_run: bool = False,
        host: str | None = None,
        retain: bool = True,
        jobs: int | None = None,
        progress: "OnProgress | None" = None,
    ) -> SyncResult:
        """Collect what is new in the agents' logs.

        ``roots`` is a directory to look in, or several, instead of those of the configuration
        and the agents' default ones. ``redact`` masks secrets before anything is stored, as the
        setting of that name does. ``progress`` is a function that is called with the number of
        bytes read so far and the number of all bytes to read. ``dry_run`` only counts what is new
        and changes nothing. Demo sessions are removed from the store first, so that it has only
        real sessions. Afterwards retention runs if it is due, as the configuration says;
        ``retain=False`` leaves it to a later sync. If there is much to read, ``jobs`` worker
        processes read it; 1 means none. The default is the setting ``jobs``, else one process for
        each processor.
        """
        import msgspec

        from session_memory.collect.sync import sync
        from session_memory.memory.progress import progress_of
        from session_memory.memory.retention import run_due_retention

        config = self.config
        if a_flag("redact", redact):
            config = msgspec.structs.replace(config, redact=True)
        where = self._roots(roots, flavors)
        machine, bar = maybe_text("host", host), progress_of(progress)
        removed = 0
        if not a_flag("dry_run", dry_run):
            self._complete_index()
            removed = self._remove_demo(where)
        workers = maybe_count("jobs", jobs)
        outcome = sync(
            self.store,
            config,
            where,
            progress=bar,
            dry_run=dry_run,
            host=machine,
            jobs=workers,
        )
        is_wanted = a_flag("retain", retain) and not dry_run
        retention = run_due_retention(self.store, config) if is_wanted else None
        if outcome.report.ingested and not dry_run:
            from session_memory.views.figure_renewal import renew_figures

            renew_figures(self.store)
        return SyncResult.of(outcome, retention, demo_removed=removed)

    def import_live(
        self, places: Roots | None = None, *, progress: "OnProgress | None" = None
    ) -> "LiveImportResult":
        """Turn all sessions of mycode and power-loop into live sessions. `live` can continue them.

        ``places`` are homes of mycode and databases of power-loop, by default their usual ones.
        Another call adds what is new since. ``progress`` is as in `sync`.
        """
        from session_memory.memory.live_imports import import_all
        from session_memory.memory.progress import progress_of

        given, bar = paths("places", places), progress_of(progress)
        self._complete_index()
        return import_all(self.store, self.config, given, bar)

    def _remove_demo(self, where: "list[Root]") -> int:
        """Remove the demo sessions from a store that gets real logs. Returns their number."""
        from session_memory.core.time import now_ms
        from session_memory.retain.demo_sources import has_demo, is_demo_path

        if any(is_demo_path(str(root.path)) for root in where) or not has_demo(self.store):
            return 0
        from session_memory.retain.demo_sessions import remove_demo

        return remove_demo(self.store, self.config, now_ms())

    def sync_demo(self) -> SyncResult:
        """Collect the demo sessions that come with the package into a store for them alone.

        Their host is ``demo``. The configuration is ignored, so nothing is excluded. A store with
        other logs is refused, because its figures would include those of the demo.
        """
        from session_memory.collect.discover import roots
        from session_memory.collect.sync import sync
        from session_memory.config import Config
        from session_memory.core.errors import NotEmpty
        from session_memory.demo import demo_roots
        from session_memory.retain.demo_sources import DEMO_HOST, is_demo_path

        if not all(is_demo_path(row.path) for row in self.store.sources.every()):
            raise NotEmpty(self.place, "Name a new store: session-memory demo --store NEW.db")
        self._complete_index()
        config = Config()
        where = roots(config, demo_roots())
        return SyncResult.of(sync(self.store, config, where, host=DEMO_HOST))

    def analyze(
        self,
        sessions: Names | None = None,
        *,
        jobs: int | None = None,
        on_begin: Callable[[int, int], None] = lambda sessions, events: None,
        on_session: Callable[[int], None] = lambda events: None,
    ) -> AnalysisResult:
        """Find outcome, errors and fixes of the sessions that changed, or of those named.

        ``on_begin`` gets the number of sessions and events to read, ``on_session`` the number of
        events of each session that was read. ``jobs`` is the number of worker processes, as in
        `sync`.
        """
        from session_memory.learn.analyze import analyze

        a_function("on_begin", on_begin)
        a_function("on_session", on_session)
        # None means all sessions that changed. An empty list means no session.
        named = None if sessions is None else names("sessions", sessions)
        uids = None if named is None else [self._uid(one) for one in named]
        workers = maybe_count("jobs", jobs) or self.config.jobs
        return AnalysisResult.of(
            analyze(self.store, uids, on_begin=on_begin, on_session=on_session, jobs=workers)
        )

    def follow(
        self,
        roots: Roots | None = None,
        *,
        flavors: Names | None = None,
        poll: bool = False,
        interval: float | None = None,
        idle: bool = False,
        progress: "OnProgress | None" = None,
    ) -> "Follow":
        """Collect what the agents write while they write it, and iterate over what happens.

        ``poll`` looks at the files again and again instead of waiting for events of the file
        system. All files are also looked at in the beginning and every ``interval`` seconds. With
        ``idle``, the iteration also yields a value when nothing happened for a moment.
        ``progress`` is as in `sync`.
        """
        from session_memory.collect.watch import WHOLE_LOOK_S, Watch
        from session_memory.memory.follow import Follow
        from session_memory.memory.progress import progress_of

        self._refuse_closed()
        self._refuse_in_memory("be followed")
        where = self._roots(roots, flavors)
        self._remove_demo(where)
        a_flag("poll", poll)
        every = WHOLE_LOOK_S if interval is None else seconds("interval", interval)
        bar = progress_of(progress)

        def watch(stop: "StopFlag") -> "Watch":
            return Watch(
                lambda: self._open(create=True),
                self.config,
                where,
                stop,
                poll=poll,
                interval=every,
                progress=bar,
            )

        follow = Follow(watch, idle=a_flag("idle", idle))
        self._follows.add(follow)
        return follow

    def retain(
        self,
        *,
        max_age_days: int | None = None,
        dry_run: bool = False,
        archive: bool | None = None,
    ) -> "RetainResult":
        """Bring the store within its configured limits: evict old sessions.

        Their logs are moved to the archive. ``archive=False`` deletes them instead; None does what
        the configuration says. While retention is off and no limit is set, nothing is evicted
        without ``max_age_days``.
        """
        from session_memory.memory.retention import (
            RetainResult,
            limited,
            nothing_evicted,
            run_retention,
        )
        from session_memory.views.retention import expiry

        a_flag("dry_run", dry_run)
        if archive is not None:
            a_flag("archive", archive)
        age = maybe_count("max_age_days", max_age_days)
        config = self.config if age is None else limited(self.config, age)
        is_off = age is None and config.retention.is_off
        if is_off and not dry_run:
            outcome = nothing_evicted(self.store)
        else:
            outcome = run_retention(self.store, config, dry_run=dry_run, archive=archive)
        soon = tuple(expiry(self.store, self.config))
        return RetainResult(outcome=outcome, expiry=soon, dry_run=dry_run, is_off=is_off)

    def sources(
        self,
        *,
        flavor: str | None = None,
        host: str | None = None,
        role: str | None = None,
        state: str | None = None,
        path: str | None = None,
        limit: int = 0,
    ) -> "SourceList":
        """List the logs that were found, and how far each was read. ``path`` is a part of the
        path."""
        from session_memory.config import this_host
        from session_memory.views.known_names import check_flavors
        from session_memory.views.sources import STATES, list_sources

        if role is not None:
            one_of("role", role, ALL_ROLES)
        if state is not None:
            one_of("state", state, STATES)
        of_agent = maybe_text("flavor", flavor)
        check_flavors(self.store, of_agent)
        return list_sources(
            self.store,
            flavor=of_agent,
            host=maybe_text("host", host),
            role=role,
            state=state,
            text=maybe_text("path", path),
            limit=checked_limit(limit),
            here=this_host(self.config),
        )

    def problems(
        self, *, reason: str | None = None, path: str | None = None, limit: int = 0
    ) -> "ProblemList":
        """List what could not be read, with file and byte offset. ``path`` is part of the path."""
        from session_memory.views.problems import list_problems

        return list_problems(
            self.store,
            self.config,
            reason=maybe_text("reason", reason),
            text=maybe_text("path", path),
            limit=checked_limit(limit),
        )

    def verify(
        self,
        sample: int | None = 20,
        *,
        on_source: Callable[[int], None] = lambda size: None,
        on_session: Callable[[int, int], None] = lambda done, total: None,
    ) -> VerifyResult:
        """Read all stored logs back and compare them with their hashes.

        ``sample`` sessions, chosen at random, are derived again from the stored logs and compared
        with what is stored; None takes all. ``checked`` of the result says how many of all were
        checked. ``on_source`` gets the size of each log that was read back. ``on_session`` gets the
        number of sessions of the sample that were derived again, and the size of the sample.
        """
        from session_memory.memory.verifying import verify_all

        return VerifyResult.of(
            verify_all(
                self.store,
                self.config,
                maybe_count("sample", sample),
                a_function("on_source", on_source),
                a_function("on_session", on_session),
            )
        )

    def backup(self, target: str | Path) -> BackupResult:
        """Copy the store to a new file. Others may write to the store meanwhile. The copy is a
        complete store."""
        path = a_path("target", target)
        return BackupResult(path, self.store.backup(path))

    def export(
        self,
        target: str | Path,
        sessions: Names | None = None,
        *,
        format: str = "portable",
        level: str = "full",
        inherited: bool = False,
        children: bool = True,
        everything: bool = False,
        redact: bool | None = None,
    ) -> ExportResult:
        """Write sessions to a file that must not exist yet.

        ``portable`` is for another store; without ``sessions`` it has all of them. ``markdown``
        and ``html`` take one session, ``jsonl`` any number. ``redact`` masks secrets: by default
        in transcripts, and not in portable files.
        """
        from session_memory.memory.exporting import (
            FORMATS,
            PORTABLE,
            export_portable,
            write_new_file,
        )

        path = a_path("target", target)
        named = None if sessions is None else names("sessions", sessions)
        masked = format != PORTABLE if redact is None else a_flag("redact", redact)
        if one_of("format", format, FORMATS) == PORTABLE:
            from session_memory.views.lookup import find_stored

            uids = None if named is None else [find_stored(self.store, one) for one in named]
            return export_portable(self.store, path, uids, redacted=masked)
        text = self.transcripts(
            named or (),
            format=format,
            level=level,
            inherited=inherited,
            children=children,
            everything=everything,
            redact=masked,
        )
        written = write_new_file(path, text)
        return ExportResult(path=path, format=format, bytes=written, sessions=len(named or ()))

    def transcripts(
        self,
        sessions: Names,
        *,
        format: str = "markdown",
        level: str = "full",
        inherited: bool = False,
        children: bool = True,
        everything: bool = False,
        redact: bool = True,
    ) -> "Iterator[str]":
        """Yield sessions as text: one as ``markdown`` or ``html``, any number as ``jsonl``.

        ``level`` is ``user``, ``assistant``, ``tool`` or ``full``. Bookkeeping of the agents is
        left out of ``markdown`` and ``html`` unless ``everything`` is true. Secrets are masked,
        unless ``redact`` is false.
        """
        from session_memory.core.errors import InvalidRecord
        from session_memory.memory.exporting import TEXT_FORMATS, transcript_text
        from session_memory.views.transcript_items import LEVELS, TranscriptOptions

        one_of("format", format, TEXT_FORMATS)
        options = TranscriptOptions(
            level=one_of("level", level, LEVELS),
            inherited=a_flag("inherited", inherited),
            children=a_flag("children", children),
            everything=a_flag("everything", everything),
        )
        a_flag("redact", redact)
        uids = [self._uid(one) for one in names("sessions", sessions)]
        if not uids or (format != "jsonl" and len(uids) > 1):
            number = "at least one session" if format == "jsonl" else "one session"
            hint = "Use jsonl for several sessions, and portable for all of them."
            raise InvalidRecord(f"{format} needs {number}, got {len(uids)}", hint, field="sessions")
        return transcript_text(self.store, uids, format, options, redacted=redact)

    def _roots(self, roots: Roots | None, flavors: Names | None) -> "list[Root]":
        from session_memory.collect.discover import roots as find_roots
        from session_memory.collect.repository_logs import repository_roots
        from session_memory.retain.demo_sources import is_demo_path

        given, only = paths("roots", roots), names("flavors", flavors)
        found = find_roots(self.config, given, only)
        if given:
            return found
        # In a store with the demo, some sessions name repositories of the demo. Do not look for
        # logs there.
        in_repositories = repository_roots(self.store, self.config, only)
        return [*found, *(one for one in in_repositories if not is_demo_path(str(one.path)))]
