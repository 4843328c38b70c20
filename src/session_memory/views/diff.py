"""Build the diff of what a session changed, file by file, from the edits in its log.

If the log holds a file as it was before the first edit, the result is one exact diff. If it only
holds excerpts, the excerpts are shown, and a note says so.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.changes import Change, Replacement
from session_memory.core.patches import applied, compared, counted
from session_memory.core.schema import Session
from session_memory.derive.agents import changes_asked, changes_noted
from session_memory.derive.archived import readable_store
from session_memory.derive.bodies import Bodies
from session_memory.store import Store
from session_memory.views.calls import ToolCall, calls_of, with_subagents
from session_memory.views.paths import path_from
from session_memory.views.payloads import Payloads

EXCERPTS = "excerpts in the order of the edits: the log does not hold the whole file"
OVERWRITTEN = "written whole: what was there before is not in the log"
BY_COMMAND = "changed by a command, which leaves no diff in the log"
CHANGED_BETWEEN = "something else, a command, a formatter or a person, changed it between edits"
ABANDONED = "some of it was done on a branch that was abandoned later"
OUT_OF_SIGHT = "(a file the log does not name)"


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of one file. If ``is_whole``, ``lines`` is the exact diff from before the session
    to after it; otherwise ``lines`` are excerpts, and ``notes`` says why."""

    path: str
    action: str
    edits: int
    added: int
    removed: int
    is_whole: bool
    notes: tuple[str, ...] = ()
    moved_to: str | None = None
    lines: tuple[str, ...] = ()

    @property
    def headers(self) -> tuple[str, str]:
        old = "/dev/null" if self.action == "create" else _header("a", self.path)
        new = "/dev/null" if self.action == "delete" else _header("b", self.moved_to or self.path)
        return f"--- {old}", f"+++ {new}"

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        lines = values.pop("lines")
        text = "\n".join((*self.headers, *lines)) + "\n" if lines else ""
        return {**values, "diff": text}


class SessionDiff(msgspec.Struct, frozen=True):
    session: Session
    files: list[FileDiff]

    @property
    def totals(self) -> dict[str, int]:
        return {
            "files": len(self.files),
            "edits": sum(file.edits for file in self.files),
            "added": sum(file.added for file in self.files),
            "removed": sum(file.removed for file in self.files),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "session": self.session.session_uid,
            "files": [file.to_dict() for file in self.files],
            "totals": self.totals,
        }


def diff_session(
    store: Store, session: Session, *, text: str | None = None, children: bool = True
) -> SessionDiff:
    """Return the diff of every file that a session changed, in the order of first edits.

    ``text`` selects files with it in their path. ``children`` adds the changes of subagents.
    """
    uid = session.session_uid
    files: dict[str, _History] = {}
    for one in with_subagents(store, uid) if children else (uid,):
        read = readable_store(store, one)
        bodies, payloads = Bodies(read), Payloads(read, one)
        for call in calls_of(store, one):
            if not call.event.is_a("edit") or call.state == "failed":
                continue
            for change in _changes(call, bodies, payloads):
                path = path_from(change.path, session.cwd)
                files.setdefault(path, _History(path)).add(change, call)
    found = [history.diff() for history in files.values()]
    return SessionDiff(session, [file for file in found if text is None or text in file.path])


def _changes(call: ToolCall, bodies: Bodies, payloads: Payloads) -> Iterator[Change]:
    body = bodies.of(call.event)
    uid, result = call.event.session_uid, call.result
    asked = changes_asked(uid, body.arguments, body.text, call.event.path)
    noted = changes_noted(uid, payloads.of(result).record) if result is not None else []
    if not asked and not noted:
        yield Change(path=call.event.path or OUT_OF_SIGHT, action="command")
    elif len(asked) == len(noted) == 1:
        # The call says how to apply the change; the result says where, and to which text.
        known = noted[0]
        yield msgspec.structs.replace(
            known,
            replacements=asked[0].replacements,
            content=known.content if known.content is not None else asked[0].content,
            lines=known.lines or asked[0].lines,
        )
    else:
        yield from asked or noted


class _History:
    """Follows one file through the edits of a session. ``_now`` is its content, if known."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._changes: list[Change] = []
        self._before: str | None = None
        self._now: str | None = None
        self._notes: dict[str, None] = {}

    def add(self, change: Change, call: ToolCall) -> None:
        if call.event.branch is not None:
            self._notes[ABANDONED] = None
        known = change.before
        if not self._changes:
            self._before = "" if change.action == "create" else known
            self._now = self._before
        elif known is not None:
            if self._now is not None and known != self._now:
                self._notes[CHANGED_BETWEEN] = None
            self._now = known
        self._changes.append(change)
        self._now = _after(self._now, change)

    def diff(self) -> FileDiff:
        if self._before is not None and self._now is not None:
            lines, is_whole = compared(self._before, self._now, numbered=True), True
        else:
            lines, is_whole = self._excerpts(), len(self._changes) == 1 and self._is_exact()
            self._notes[self._why()] = None
            if is_whole:
                self._notes.clear()
        added, removed = counted(lines)
        moves = [change.moved_to for change in self._changes if change.moved_to]
        return FileDiff(
            path=self._path,
            action=self._action(),
            edits=len(self._changes),
            added=added,
            removed=removed,
            is_whole=is_whole,
            notes=tuple(self._notes),
            moved_to=moves[-1] if moves else None,
            lines=lines,
        )

    def _is_exact(self) -> bool:
        return self._changes[0].is_numbered

    def _why(self) -> str:
        actions = {change.action for change in self._changes}
        if actions == {"command"}:
            return BY_COMMAND
        return OVERWRITTEN if self._changes[0].action == "write" else EXCERPTS

    def _excerpts(self) -> tuple[str, ...]:
        lines: list[str] = []
        for change in self._changes:
            if change.lines and not change.lines[0].startswith("@@"):
                lines.append("@@")
            lines += change.lines
        return tuple(lines)

    def _action(self) -> str:
        first, last = self._changes[0].action, self._changes[-1].action
        if last == "delete":
            return "delete"
        return first if first in ("create", "command", "write") else "edit"


def _after(now: str | None, change: Change) -> str | None:
    if change.action == "delete":
        return ""
    if change.content is not None:
        return change.content
    if now is None:
        return None
    if change.replacements:
        return _replaced(now, change.replacements)
    return applied(now, change.lines) if change.lines else None


def _replaced(now: str, replacements: tuple[Replacement, ...]) -> str | None:
    for one in replacements:
        if one.old and one.old not in now:
            return None
        if not one.old and now:
            return None
        now = now.replace(one.old, one.new, -1 if one.everywhere else 1) if one.old else one.new
    return now


def _header(side: str, path: str) -> str:
    return path if path.startswith("/") else f"{side}/{path}"
