"""Find out which lessons are in which instruction files, from the journal of all writes.

Each write of lessons is recorded in the journal before and after it happens. If the process is
killed in between, the file itself shows whether the write happened. The journal is beside the
store, not beside the lessons, because its paths belong to this machine.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import SessionMemoryError
from session_memory.core.lesson_errors import BrokenMarkers, LessonError
from session_memory.core.time import parse_time
from session_memory.derive.agents import reads_instructions
from session_memory.learn import lesson_block
from session_memory.learn.files import Journal, read_file
from session_memory.learn.proposals import MOST_BYTES

APPLY, REVERT, DONE, DROPPED = "apply", "revert", "done", "dropped"
AS_WRITTEN, CHANGED, GONE = "as written", "changed", "gone"


class LessonVersion(msgspec.Struct, frozen=True):
    """The id of a lesson with the number of one of its versions."""

    id: str
    version: int


class FileWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the journal: a write of lessons to a file, or the undoing of write number ``of``.

    ``before`` and ``after`` are hashes of the whole file, or None without a file. ``block`` is the
    hash of the part with the lessons, ``lead`` and ``tail`` are the line ends added around it.
    ``names`` are the file's name and the names of links to it.
    """

    number: int
    action: str
    at: str
    who: str
    target: str
    why: str = ""
    repo: str = ""
    names: tuple[str, ...] = ()
    lessons: tuple[LessonVersion, ...] = ()
    before: str | None = None
    after: str | None = None
    block: str | None = None
    lead: str = ""
    tail: str = ""
    forced: bool = False
    of: int | None = None


class AppliedState(msgspec.Struct, frozen=True, kw_only=True):
    """The lessons that were last written to a file, and what became of them.

    ``state`` is ``as written``, ``changed`` (the file was edited since) or ``gone`` (the file or
    the block of lessons was deleted).
    """

    target: str
    repo: str
    lessons: tuple[LessonVersion, ...]
    applied_at: str
    who: str
    state: str


class RevertResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of undoing a write of lessons.

    ``exact``: the file is byte for byte as before the write. If it is not, ``note`` says what was
    done instead. ``removed``: the file no longer exists.
    """

    target: str
    exact: bool
    removed: bool
    lessons: tuple[LessonVersion, ...]
    note: str = ""


class AppliedPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson was in a file from ``since`` until ``until``; None means until now.

    ``is_gone``: somebody removed the lesson or the file by hand at an unknown time.
    """

    lesson: str
    target: str
    repo: str
    names: tuple[str, ...]
    since: int
    until: int | None = None
    is_gone: bool = False

    def is_read_by(self, flavor: str) -> bool:
        return any(reads_instructions(name, flavor) for name in self.names)


class AppliedRegistry:
    """Reads the journal of writes to instruction files. It writes nothing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.journal = Journal(directory / "journal.jsonl")

    def writes(self) -> list[FileWrite]:
        """Return every write that reached its file, in order."""
        begun: dict[int, FileWrite] = {}
        settled: dict[int, bool] = {}
        for entry in self.journal.entries()[0]:
            if entry.get("action") in (DONE, DROPPED):
                settled[entry.get("number", 0)] = entry["action"] == DONE
            elif entry.get("action") in (APPLY, REVERT):
                write = write_of(entry)
                begun[write.number] = write
        return [w for w in begun.values() if settled.get(w.number) or has_happened(w, settled)]

    def stack(self, target: str) -> list[FileWrite]:
        """Return the writes to a file that were not undone, newest last."""
        found: list[FileWrite] = []
        for write in self.writes():
            if write.target == target:
                if write.action == APPLY:
                    found.append(write)
                else:
                    found = [one for one in found if one.number != write.of]
        return found

    def live(self) -> list[AppliedState]:
        """Return the files with lessons, each with its state: as written, changed or gone."""
        found = []
        for target in dict.fromkeys(write.target for write in self.writes()):
            stack = self.stack(target)
            if stack and stack[-1].lessons:
                found.append(_state_of(stack[-1]))
        return found

    def around(self, target: Path) -> tuple[bytes, bytes]:
        """Return the line ends that the last write to a file added before and after the block."""
        stack = self.stack(str(target))
        return (stack[-1].lead.encode(), stack[-1].tail.encode()) if stack else (b"", b"")

    def periods(self, lesson: str | None = None) -> list[AppliedPeriod]:
        """Return when each lesson was in each file; with ``lesson``, only the periods of this one.

        A lesson has several periods in a file if it was removed and written again.
        """
        open_since: dict[tuple[str, str], AppliedPeriod] = {}
        ended: list[AppliedPeriod] = []
        for write, held in self._states():
            at = parse_time(write.at)
            for key in [k for k in open_since if k[0] == write.target and k[1] not in held]:
                ended.append(msgspec.structs.replace(open_since.pop(key), until=at))
            for name in held:
                if (write.target, name) not in open_since:
                    open_since[write.target, name] = AppliedPeriod(
                        lesson=name,
                        target=write.target,
                        repo=write.repo,
                        names=write.names,
                        since=at,
                    )
        still = [msgspec.structs.replace(s, is_gone=_is_gone(s)) for s in open_since.values()]
        return [s for s in (*ended, *still) if lesson in (None, s.lesson)]

    def _states(self) -> Iterator[tuple[FileWrite, set[str]]]:
        """Yield each write with the ids of the lessons that its file contained afterwards."""
        stacks: dict[str, list[FileWrite]] = {}
        for write in self.writes():
            stack = stacks.setdefault(write.target, [])
            if write.action == APPLY:
                stack.append(write)
            else:
                stack[:] = [one for one in stack if one.number != write.of]
            yield write, {held.id for held in stack[-1].lessons} if stack else set()


def write_of(entry: dict[str, Any]) -> FileWrite:
    try:
        return msgspec.convert(entry, FileWrite)
    except msgspec.ValidationError as error:
        hint = "Check applied/journal.jsonl beside the store; one of its writes is not valid."
        raise LessonError(f"the journal of writes cannot be read: {error}", hint) from error


def has_happened(write: FileWrite, settled: dict[int, bool]) -> bool:
    """Whether a write reached its file. Without a recorded result the file's content decides.

    ``settled`` has the recorded results: the number of a write, and whether it was done.
    """
    if write.number in settled:
        return settled[write.number]
    now = read_file(Path(write.target), MOST_BYTES)
    if content_hash(now) in (write.after, write.before):
        return content_hash(now) == write.after
    # The file was edited since, so compare only the block.
    try:
        return now is not None and block_hash(now, write.target) == write.block
    except BrokenMarkers:
        return True


def _state_of(write: FileWrite) -> AppliedState:
    try:
        now = read_file(Path(write.target), MOST_BYTES)
        block = None if now is None else block_hash(now, write.target)
        same = content_hash(now) == write.after
    except SessionMemoryError:
        block, same = "", False
    state = AS_WRITTEN if same else GONE if block is None else CHANGED
    return AppliedState(
        target=write.target,
        repo=write.repo,
        lessons=write.lessons,
        applied_at=write.at,
        who=write.who,
        state=state,
    )


def _is_gone(period: AppliedPeriod) -> bool:
    """Whether the file, its block, or the lesson in the block was deleted."""
    try:
        now = read_file(Path(period.target), MOST_BYTES)
        block = None if now is None else lesson_block.block_in(now, period.target)
    except SessionMemoryError:
        # An unreadable file is not gone: agents may still read it.
        return False
    return block is None or f"({period.lesson}, ".encode() not in block


def content_hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def block_hash(content: bytes, path: str) -> str | None:
    return content_hash(lesson_block.block_in(content, path))
