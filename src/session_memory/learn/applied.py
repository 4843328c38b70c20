"""Write lessons to the user's instruction files, such as CLAUDE.md, and undo each write.

Before a file is changed, a copy of it is kept, so that an undo can restore every byte. The journal
of `AppliedRegistry` records every write.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.lesson_errors import LessonError, NotApplied
from session_memory.core.time import format_time
from session_memory.learn import lesson_block
from session_memory.learn.applied_registry import (
    APPLY,
    DONE,
    DROPPED,
    REVERT,
    AppliedRegistry,
    FileWrite,
    LessonVersion,
    RevertResult,
    block_hash,
    content_hash,
    has_happened,
    write_of,
)
from session_memory.learn.curate import DecisionNote
from session_memory.learn.files import read_file, replace_file, sweep
from session_memory.learn.proposals import MOST_BYTES, Proposal
from session_memory.store.private_files import make_private


class AppliedLessons(AppliedRegistry):
    def apply(self, proposal: Proposal, note: DecisionNote) -> FileWrite | None:
        """Write a proposal to its file. Return None if the file already has this content."""
        target = proposal.target.path
        with self.journal.held():
            self._settle()
            if not proposal.is_change:
                return None
            lead, tail = proposal.put.lead, proposal.put.tail
            if not lead and not tail:
                lead, tail = self.around(target)
            write = FileWrite(
                number=self._next_number(),
                action=APPLY,
                at=format_time(note.at),
                who=note.who,
                why=note.why,
                forced=note.force,
                target=str(target),
                repo=proposal.target.repo,
                names=proposal.target.names,
                lessons=tuple(LessonVersion(one.id, one.version) for one in proposal.lessons),
                before=self._keep(proposal.before),
                after=content_hash(proposal.put.content),
                block=block_hash(proposal.put.content, str(target)),
                lead=lead.decode(),
                tail=tail.decode(),
            )
            self._write(write, proposal.put.content)
        return write

    def revert(self, target: Path, note: DecisionNote) -> RevertResult:
        """Undo the last write to a file."""
        with self.journal.held():
            self._settle()
            stack = self.stack(str(target))
            if not stack:
                raise NotApplied(str(target))
            last = stack[-1]
            now = read_file(target, MOST_BYTES)
            content, remark = self._undone(last, now)
            write = msgspec.structs.replace(
                last,
                number=self._next_number(),
                action=REVERT,
                of=last.number,
                at=format_time(note.at),
                who=note.who,
                why=note.why,
                lessons=(),
                before=self._keep(now),
                after=content_hash(content),
                block=None if content is None else block_hash(content, str(target)),
            )
            if content == now:
                # Nothing of the write is left in the file, but the journal must record the undo.
                self._record(write)
                self._finish(write, DONE)
            else:
                self._write(write, content)
        return RevertResult(
            target=str(target),
            exact=not remark,
            removed=content is None,
            lessons=last.lessons,
            note=remark,
        )

    def _undone(self, last: FileWrite, now: bytes | None) -> tuple[bytes | None, str]:
        """Return the file's content without the last write; None if the file has to be deleted.

        The second value is a note for the user if the result differs from the original file.
        """
        before = self._kept(last.before)
        if now is None:
            return None, "the file is gone"
        if content_hash(now) == last.after and (before is not None or last.before is None):
            return before, ""
        note = "the file had been edited: only the lessons were removed"
        if block_hash(now, last.target) not in (last.block, None):
            note = "the file and the lessons had been edited: only the lessons were removed"
        if before is None and last.before is not None:
            note = "the original file is no longer kept: only the lessons were removed"
        earlier = None if before is None else lesson_block.block_in(before, last.target)
        lead, tail = last.lead.encode(), last.tail.encode()
        if lesson_block.find_block(now, last.target) is None and earlier is None:
            return now, "the lessons were no longer in the file"
        content = lesson_block.remove_block(now, last.target, lead=lead, tail=tail, before=earlier)
        return content, note

    def _write(self, write: FileWrite, content: bytes | None) -> None:
        self._record(write)
        path = Path(write.target)
        if content_hash(read_file(path, MOST_BYTES)) != write.before:
            self._finish(write, DROPPED)
            hint = "Check the file and run the command again."
            raise LessonError(f"another program changed {path} just now", hint)
        if content is None:
            path.unlink()
        else:
            # A new file gets the permissions of its directory, within the umask.
            mode = path.parent.stat().st_mode & 0o666
            replace_file(path, content, _like(path), mode)
        self._finish(write, DONE)

    def _record(self, write: FileWrite) -> None:
        self.journal.add(msgspec.to_builtins(write))

    def _finish(self, write: FileWrite, result: str) -> None:
        self.journal.add({"action": result, "number": write.number})

    def _settle(self) -> None:
        """Find the writes of killed processes, and record which of them reached their files."""
        entries = self.journal.entries()[0]
        ends = (DONE, DROPPED)
        finished = {entry.get("number") for entry in entries if entry.get("action") in ends}
        for entry in entries:
            if entry.get("action") in (APPLY, REVERT) and entry.get("number") not in finished:
                write = write_of(entry)
                sweep(Path(write.target))
                self._finish(write, DONE if has_happened(write, {}) else DROPPED)

    def _next_number(self) -> int:
        numbers = [entry.get("number", 0) for entry in self.journal.entries()[0]]
        return max(numbers, default=0) + 1

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
        return content if content is not None and content_hash(content) == name else None

    def forget(self, words: list[str]) -> int:
        """Delete the kept copies of files that contain one of these texts; return their number.

        Without its copy, a file cannot be restored: `revert` only removes the lessons from it.
        """
        dropped = 0
        for path in sorted((self.directory / "before").glob("*")):
            content = read_file(path, MOST_BYTES) or b""
            if any(text.encode("utf-8", "backslashreplace") in content for text in words):
                path.unlink()
                dropped += 1
        return dropped

    def save_baseline(self, baseline: dict[str, Any]) -> None:
        make_private(self.directory)
        replace_file(self.directory / "baseline.json", msgspec.json.encode(baseline))

    def baseline(self) -> dict[str, Any] | None:
        data = read_file(self.directory / "baseline.json", MOST_BYTES)
        try:
            return None if data is None else msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            hint = "Save a new one with: session-memory lessons measure --baseline"
            raise LessonError(f"the baseline cannot be read: {error}", hint) from error


def _like(path: Path) -> os.stat_result | None:
    """Return the status (mode and owner) of the file that will be replaced; None without a file."""
    try:
        return path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
