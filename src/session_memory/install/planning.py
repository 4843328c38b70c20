"""Plan what to write into the files of agents, and carry the plan out.

Making a plan writes nothing. A file gets the parts of all agents that are installed in it, so it
does not matter in which order agents are installed and uninstalled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from session_memory.install.agent import DEFAULT_EVENTS, EVENTS, InstallPlace, Request
from session_memory.install.agents import setup_of
from session_memory.install.diffs import unified
from session_memory.install.errors import InstallError
from session_memory.install.parts import (
    JSON,
    WHOLE,
    Created,
    FileParts,
    Part,
    existing,
    put_all,
    read_values,
    remove_all,
)
from session_memory.install.record import (
    FileRecord,
    InstalledAgent,
    InstallRecord,
    RecordFile,
    content_hash,
)
from session_memory.install.target_file import (
    missing_directories,
    read_text,
    remove_empty,
    remove_file,
    write_text,
)
from session_memory.redact.masking import mask


@dataclass(frozen=True)
class FileChange:
    """One file: its content now and afterwards (None: no file), and what to record about it.

    ``before`` is the content without our parts. ``is_ours``: the file has parts of ours afterwards.
    """

    path: Path
    now: str | None
    after: str | None
    before: str | None = None
    created: Created = field(default_factory=list)
    is_ours: bool = False

    @property
    def is_change(self) -> bool:
        return self.now != self.after

    def to_dict(self) -> dict[str, str]:
        action = "remove" if self.after is None else "create" if self.now is None else "change"
        return {"path": str(self.path), "action": action, "diff": mask(self.diff())}

    def diff(self) -> str:
        names = ["/dev/null" if text is None else str(self.path) for text in (self.now, self.after)]
        return unified(self.now or "", self.after or "", *names)


@dataclass
class InstallPlan:
    """The agents that will be installed, and the files that have to change for that."""

    agents: list[InstalledAgent]
    changes: list[FileChange] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        return any(change.is_change for change in self.changes)


class Installer:
    """Plans and carries out installations with the record of this user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.records = RecordFile(environ)

    def plan(
        self, wanted: Sequence[InstalledAgent], unwanted: Sequence[tuple[str, str]] = ()
    ) -> InstallPlan:
        """Plan what changes if ``wanted`` are installed and ``unwanted`` (name, root) are not."""
        record = self.records.read()
        agents = {one.key: one for one in record.agents}
        touched = {one.key for one in wanted} | set(unwanted)
        agents.update({one.key: one for one in wanted})
        for key in unwanted:
            agents.pop(key, None)
        roots = {root for _, root in touched}
        # An agent that reads the files of another one is planned again with that one.
        touched |= {
            (name, root)
            for name, root in agents
            if any((other, root) in touched for other in setup_of(name).reads)
        }
        here = [one for one in agents.values() if one.root in roots]
        plan = InstallPlan(list(agents.values()))
        possible = _merged(self._parts(*key) for key in sorted(touched))
        parts = _merged(
            setup_of(one.agent).files(self.place(one.root), self.request(one, agents, unwanted))
            for one in here
        )
        for path, whole in possible.items():
            mine = parts.get(path) or FileParts(path, whole.kind, ())
            (every,) = _merged([[whole, mine]]).values()
            plan.changes.append(self._change(record, every, mine.parts))
        return plan

    def wanted(
        self,
        name: str,
        root: str,
        words: tuple[str, ...],
        *,
        hooks: tuple[str, ...] | None = None,
        skill: bool | None = None,
        through_server: bool | None = None,
    ) -> InstalledAgent:
        """Describe an agent to install. None keeps what is installed, or means the default."""
        known = {one.key: one for one in self.records.read().agents}
        events = setup_of(name).hooks_of(DEFAULT_EVENTS if hooks is None else hooks)
        old = known.get((name, root)) or InstalledAgent(name, root, events, words)
        return InstalledAgent(
            name,
            root,
            old.hooks if hooks is None else events,
            words,
            old.skill if skill is None else skill,
            old.through_server if through_server is None else through_server,
        )

    def carry_out(self, plan: InstallPlan) -> None:
        """Record what will be installed, then write the files of the plan.

        If the run is killed in between, the user can run the command again: the record names every
        file that may have been written.
        """
        with self.records.held():
            record = self.records.read()
            for change in plan.changes:
                if read_text(change.path) != change.now:
                    hint = "Run the command again."
                    raise InstallError(f"another program changed {change.path} just now", hint)
            record.agents = plan.agents
            for change in plan.changes:
                self._note(record, change)
            self.records.write(record)
            for change in plan.changes:
                self._write(record, change)
            record.directories = remove_empty(record.directories)
            self.records.write(record)

    def files(self, one: InstalledAgent) -> list[FileParts]:
        """Return the files of an installed agent, each with our parts of it."""
        return setup_of(one.agent).files(self.place(one.root), self.request(one, [one.key]))

    def _parts(self, name: str, root: str) -> list[FileParts]:
        """Return all parts that an agent may have at the place ``root``, installed or not."""
        setup, place = setup_of(name), self.place(root)
        return setup.files(place, Request(("session-memory",), EVENTS, is_complete=True))

    def request(
        self,
        one: InstalledAgent,
        agents: Iterable[tuple[str, str]],
        unwanted: Iterable[tuple[str, str]] = (),
    ) -> Request:
        """Return what to install in one agent, if ``agents`` are the installed ones."""
        present = {name for name, root in agents if root == one.root}
        for name in setup_of(one.agent).reads:
            if (name, one.root) not in unwanted and self._has_server(name, one.root):
                present.add(name)
        return Request(
            one.words,
            one.hooks,
            one.skill,
            frozenset(present),
            through_server=one.through_server,
        )

    def _has_server(self, name: str, root: str) -> bool:
        """Whether the MCP server is in this agent's settings, added by our command or by hand."""
        file = self._parts(name, root)[0]
        try:
            values = read_values(file.kind, read_text(file.path), file.path)
        except InstallError:
            # The agent cannot read the file either.
            return False
        return file.parts[0].any_in(values) is not None

    def place(self, root: str) -> InstallPlace:
        return InstallPlace(Path(root) if root else None, self.environ)

    def _change(
        self, record: InstallRecord, whole: FileParts, wanted: tuple[Part, ...]
    ) -> FileChange:
        path, kind, now = whole.path, whole.kind, read_text(whole.path)
        values = read_values(kind, now, path)
        known = record.files.get(str(path))
        if kind == WHOLE and now is not None and whole.parts[0].any_in(values) is None:
            if not wanted:
                return FileChange(path, now, now)
            hint = "Look at the file, and move it away yourself."
            raise InstallError(f"{path} was not written by session-memory", hint)
        if not wanted:
            return FileChange(path, now, self._without(whole, now, known))
        has_all = now is not None and all(part.is_in(values) for part in wanted)
        is_foreign = known is None and kind != WHOLE and not has_all
        # If another program or the user wrote an entry here, uninstalling ours brings it back.
        before = now if is_foreign else self._without(whole, now, known)
        created: Created = list(known.created) if known else []
        unwanted = [part for part in whole.parts if not _same_place(part, wanted)]
        text = now
        if text is not None and unwanted:
            text = remove_all(kind, text, unwanted, created, path)
            created = existing(text, created) if kind == JSON else []
        if not all(part.is_in(read_values(kind, text, path)) for part in wanted):
            text, added = put_all(kind, text, wanted, path)
            created += added
        return FileChange(path, now, text, before, created, is_ours=True)

    def _without(self, whole: FileParts, now: str | None, known: FileRecord | None) -> str | None:
        """Return the content without our parts: the former one, if nobody changed the file
        since."""
        if now is None:
            return None
        former = self.records.kept(known.before) if known and known.before else None
        is_kept = known is not None and (former is not None or known.before is None)
        if known is not None and is_kept and content_hash(now) == known.after:
            return former
        if former == now:
            # An earlier run was killed after it recorded the file and before it wrote the file.
            return now
        created: Created = list(known.created) if known else []
        text = remove_all(whole.kind, now, whole.parts, created, whole.path)
        if text.strip() not in ("", "{}"):
            return text
        if whole.kind == WHOLE or (known is not None and known.before is None):
            return None
        return former if former is not None and not former.strip() else text

    def _note(self, record: InstallRecord, change: FileChange) -> None:
        """Record a file before it is written."""
        if change.is_ours and change.after is not None:
            before = None if change.before is None else self.records.keep(change.before)
            after = content_hash(change.after)
            record.files[str(change.path)] = FileRecord(before, after, change.created)
            new = missing_directories(change.path)
            record.directories = sorted({*record.directories, *new})

    def _write(self, record: InstallRecord, change: FileChange) -> None:
        if change.is_change and change.after is None:
            remove_file(change.path)
        elif change.is_change and change.after is not None:
            write_text(change.path, change.after)
        if not change.is_ours:
            record.files.pop(str(change.path), None)


def _same_place(part: Part, wanted: tuple[Part, ...]) -> bool:
    """Whether one of the wanted parts replaces this one: it has the same path and call."""
    key = getattr(part, "call", None), getattr(part, "path", None)
    return any((getattr(one, "call", None), getattr(one, "path", None)) == key for one in wanted)


def _merged(lists: Iterable[list[FileParts]]) -> dict[Path, FileParts]:
    """Return the parts of all agents, by file."""
    found: dict[Path, FileParts] = {}
    for one in (file for files in lists for file in files):
        old = found.get(one.path)
        earlier = () if old is None else old.parts
        parts = (*earlier, *(part for part in one.parts if part not in earlier))
        found[one.path] = FileParts(one.path, one.kind, parts)
    return found
