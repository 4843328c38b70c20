"""What is live where: lessons written to files of the user's, each write undone to the byte.

A write is told to the journal before and after it happens, and the file as it was is kept first.
Killed in between, the next one sees by the file itself whether it happened. Beside the store, not
beside the lessons: paths are of this machine.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import SessionMemoryError
from session_memory.core.lesson_errors import BrokenMarkers, LessonError, NotApplied
from session_memory.core.time import format_time, parse_time
from session_memory.derive.agents import reads_instructions
from session_memory.learn import markers
from session_memory.learn.curate import Word
from session_memory.learn.files import Journal, read_file, replace_file, sweep
from session_memory.learn.proposals import MOST_BYTES, Proposal
from session_memory.store.private_files import make_private

APPLY, REVERT, DONE, DROPPED = "apply", "revert", "done", "dropped"
AS_WRITTEN, CHANGED, GONE = "as written", "changed", "gone"


class Held(msgspec.Struct, frozen=True):
    id: str
    version: int


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One write to a file, or its undoing (``of``). ``before`` and ``after`` are hashes of the
    whole file, None where there was none; ``block`` is that of the block."""

    number: int
    action: str
    at: str
    who: str
    target: str
    why: str = ""
    repo: str = ""
    names: tuple[str, ...] = ()
    lessons: tuple[Held, ...] = ()
    before: str | None = None
    after: str | None = None
    block: str | None = None
    lead: str = ""
    tail: str = ""
    forced: bool = False
    of: int | None = None


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """``state`` is ``as written``, ``changed`` (the file, elsewhere or in the block) or ``gone``
    (file or block)."""

    target: str
    repo: str
    lessons: tuple[Held, ...]
    applied_at: str
    who: str
    state: str


class Reverted(msgspec.Struct, frozen=True, kw_only=True):
    """``exact``: the file is what it was, to the byte. Else it had changed, and only the block was
    taken out, or put back as it was. ``removed`` when there had been no file."""

    target: str
    exact: bool
    removed: bool
    lessons: tuple[Held, ...]
    note: str = ""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson was live in a file from ``since`` until ``until``, or still is; ``is_gone`` when
    somebody else took it out, nobody knows when."""

    lesson: str
    target: str
    repo: str
    names: tuple[str, ...]
    since: int
    until: int | None = None
    is_gone: bool = False

    def is_read_by(self, flavor: str) -> bool:
        return any(reads_instructions(name, flavor) for name in self.names)


class Applied:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.journal = Journal(directory / "journal.jsonl")

    # ------------------------------------------------------------ what is live

    def writes(self) -> list[Write]:
        """Every write that happened, in order."""
        begun: dict[int, Write] = {}
        settled: dict[int, bool] = {}
        for entry in self.journal.entries()[0]:
            if entry.get("action") in (DONE, DROPPED):
                settled[entry.get("number", 0)] = entry["action"] == DONE
            elif entry.get("action") in (APPLY, REVERT):
                write = _write_of(entry)
                begun[write.number] = write
        return [w for w in begun.values() if settled.get(w.number) or _happened(w, settled)]

    def stack(self, target: str) -> list[Write]:
        """Writes to a file that were not undone, the last one on top."""
        found: list[Write] = []
        for write in self.writes():
            if write.target == target:
                if write.action == APPLY:
                    found.append(write)
                else:
                    found = [one for one in found if one.number != write.of]
        return found

    def live(self) -> list[Live]:
        """What is live where, as far as the files still have it."""
        found = []
        for target in dict.fromkeys(write.target for write in self.writes()):
            stack = self.stack(target)
            if stack and stack[-1].lessons:
                found.append(_live(stack[-1]))
        return found

    def around(self, target: Path) -> tuple[bytes, bytes]:
        """What was added around the block of a file when it was put there."""
        stack = self.stack(str(target))
        return (stack[-1].lead.encode(), stack[-1].tail.encode()) if stack else (b"", b"")

    def stretches(self, lesson: str | None = None) -> list[Stretch]:
        """When each lesson was live in which file."""
        open_since: dict[tuple[str, str], Stretch] = {}
        ended: list[Stretch] = []
        for write, held in self._states():
            at = parse_time(write.at)
            for key in [k for k in open_since if k[0] == write.target and k[1] not in held]:
                ended.append(msgspec.structs.replace(open_since.pop(key), until=at))
            for name in held:
                if (write.target, name) not in open_since:
                    open_since[write.target, name] = Stretch(
                        lesson=name,
                        target=write.target,
                        repo=write.repo,
                        names=write.names,
                        since=at,
                    )
        still = [msgspec.structs.replace(s, is_gone=_is_gone(s)) for s in open_since.values()]
        return [s for s in (*ended, *still) if lesson in (None, s.lesson)]

    def _states(self) -> Iterator[tuple[Write, set[str]]]:
        """After each write, the lessons that its file held."""
        stacks: dict[str, list[Write]] = {}
        for write in self.writes():
            stack = stacks.setdefault(write.target, [])
            if write.action == APPLY:
                stack.append(write)
            else:
                stack[:] = [one for one in stack if one.number != write.of]
            yield write, {held.id for held in stack[-1].lessons} if stack else set()

    # ------------------------------------------------------------ writing

    def apply(self, proposal: Proposal, word: Word) -> Write | None:
        """Write a proposal to its file; None when the file says that already."""
        target = proposal.target.path
        with self.journal.held():
            self._settle()
            if not proposal.is_change:
                return None
            lead, tail = proposal.put.lead, proposal.put.tail
            if not lead and not tail:
                lead, tail = self.around(target)
            write = Write(
                number=self._next_number(),
                action=APPLY,
                at=format_time(word.at),
                who=word.who,
                why=word.why,
                forced=word.force,
                target=str(target),
                repo=proposal.target.repo,
                names=proposal.target.names,
                lessons=tuple(Held(one.id, one.version) for one in proposal.lessons),
                before=self._keep(proposal.before),
                after=_hash(proposal.put.content),
                block=_block_hash(proposal.put.content, str(target)),
                lead=lead.decode(),
                tail=tail.decode(),
            )
            self._write(write, proposal.put.content)
        return write

    def revert(self, target: Path, word: Word) -> Reverted:
        """Undo the last write to a file."""
        with self.journal.held():
            self._settle()
            stack = self.stack(str(target))
            if not stack:
                raise NotApplied(str(target))
            last = stack[-1]
            now = read_file(target, MOST_BYTES)
            content, note = self._undone(last, now)
            write = msgspec.structs.replace(
                last,
                number=self._next_number(),
                action=REVERT,
                of=last.number,
                at=format_time(word.at),
                who=word.who,
                why=word.why,
                lessons=(),
                before=self._keep(now),
                after=_hash(content),
                block=None if content is None else _block_hash(content, str(target)),
            )
            if content == now:
                # There is nothing left of it in the file; the registry still has to know.
                self._tell(write)
                self._settled(write, DONE)
            else:
                self._write(write, content)
        return Reverted(
            target=str(target),
            exact=not note,
            removed=content is None,
            lessons=last.lessons,
            note=note,
        )

    def _undone(self, last: Write, now: bytes | None) -> tuple[bytes | None, str]:
        """The file without the last write, and what to say when that is not what it was."""
        before = self._kept(last.before)
        if now is None:
            return None, "the file is gone"
        if _hash(now) == last.after and (before is not None or last.before is None):
            return before, ""
        note = "the file had changed: only the lessons were taken out"
        if _block_hash(now, last.target) not in (last.block, None):
            note = "the file had changed, the lessons too: only they were taken out"
        if before is None and last.before is not None:
            note = "the file as it was is no longer kept: only the lessons were taken out"
        earlier = None if before is None else markers.block_of(before, last.target)
        lead, tail = last.lead.encode(), last.tail.encode()
        if markers.find(now, last.target) is None and earlier is None:
            return now, "the lessons were no longer in the file"
        content = markers.take_out(now, last.target, lead=lead, tail=tail, before=earlier)
        return content, note

    def _write(self, write: Write, content: bytes | None) -> None:
        self._tell(write)
        path = Path(write.target)
        if _hash(read_file(path, MOST_BYTES)) != write.before:
            self._settled(write, DROPPED)
            hint = "Look at it and run the command again."
            raise LessonError(f"{path} was changed by somebody else just now", hint)
        if content is None:
            path.unlink()
        else:
            # A new file is as open as the directory that the user made for it.
            mode = path.parent.stat().st_mode & 0o666
            replace_file(path, content, _like(path), mode)
        self._settled(write, DONE)

    def _tell(self, write: Write) -> None:
        self.journal.add(msgspec.to_builtins(write))

    def _settled(self, write: Write, how: str) -> None:
        self.journal.add({"action": how, "number": write.number})

    def _settle(self) -> None:
        """Whoever was killed in the middle left a write of which nobody knows whether it is."""
        entries = self.journal.entries()[0]
        told = {entry.get("number") for entry in entries if entry.get("action") in (DONE, DROPPED)}
        for entry in entries:
            if entry.get("action") in (APPLY, REVERT) and entry.get("number") not in told:
                write = _write_of(entry)
                sweep(Path(write.target))
                self._settled(write, DONE if _happened(write, {}) else DROPPED)

    def _next_number(self) -> int:
        numbers = [entry.get("number", 0) for entry in self.journal.entries()[0]]
        return max(numbers, default=0) + 1

    # ------------------------------------------------------------ files as they were

    def _keep(self, content: bytes | None) -> str | None:
        if content is None:
            return None
        name = sha256(content).hexdigest()
        path = self.directory / "before" / name
        if not path.exists():
            make_private(path.parent)
            replace_file(path, content)
        return name

    def _kept(self, name: str | None) -> bytes | None:
        content = None if name is None else read_file(self.directory / "before" / name, MOST_BYTES)
        return content if content is not None and _hash(content) == name else None

    def forget(self, words: list[str]) -> int:
        """Drop kept files in which any of these words stand; undoing those takes the block out."""
        dropped = 0
        for path in sorted((self.directory / "before").glob("*")):
            content = read_file(path, MOST_BYTES) or b""
            if any(word.encode("utf-8", "backslashreplace") in content for word in words):
                path.unlink()
                dropped += 1
        return dropped

    # ------------------------------------------------------------ a baseline

    def save_baseline(self, told: dict[str, Any]) -> None:
        make_private(self.directory)
        replace_file(self.directory / "baseline.json", msgspec.json.encode(told))

    def baseline(self) -> dict[str, Any] | None:
        data = read_file(self.directory / "baseline.json", MOST_BYTES)
        try:
            return None if data is None else msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            hint = "Take it again with: session-memory lessons measure --baseline"
            raise LessonError(f"the baseline cannot be read: {error}", hint) from error


def _write_of(entry: dict[str, Any]) -> Write:
    try:
        return msgspec.convert(entry, Write)
    except msgspec.ValidationError as error:
        hint = "Look into applied/journal.jsonl beside the store; every line of it is one write."
        raise LessonError(f"the registry of what is live cannot be read: {error}", hint) from error


def _happened(write: Write, settled: dict[int, bool]) -> bool:
    """Whether a write that nobody settled reached its file."""
    if write.number in settled:
        return settled[write.number]
    now = read_file(Path(write.target), MOST_BYTES)
    if _hash(now) in (write.after, write.before):
        return _hash(now) == write.after
    # Somebody edited the file since: our block in it, or its absence, tells.
    try:
        return now is not None and _block_hash(now, write.target) == write.block
    except BrokenMarkers:
        return True


def _live(write: Write) -> Live:
    try:
        now = read_file(Path(write.target), MOST_BYTES)
        block = None if now is None else _block_hash(now, write.target)
        same = _hash(now) == write.after
    except SessionMemoryError:
        block, same = "", False
    state = AS_WRITTEN if same else GONE if block is None else CHANGED
    return Live(
        target=write.target,
        repo=write.repo,
        lessons=write.lessons,
        applied_at=write.at,
        who=write.who,
        state=state,
    )


def _is_gone(stretch: Stretch) -> bool:
    """Whether the file, or the block in it, or the lesson in that, is no longer there."""
    try:
        now = read_file(Path(stretch.target), MOST_BYTES)
        block = None if now is None else markers.block_of(now, stretch.target)
    except SessionMemoryError:
        # Not to be read is not the same as gone; agents may still see it.
        return False
    return block is None or f"({stretch.lesson}, ".encode() not in block


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def _block_hash(content: bytes, path: str) -> str | None:
    return _hash(markers.block_of(content, path))


def _like(path: Path) -> os.stat_result | None:
    """What the new file must be like: the old one, if there is one."""
    try:
        return path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
