"""Every exception this package raises on purpose. Catch `SessionMemoryError` and you have them all.

    SessionMemoryError
    ├── InvalidRecord          a value that the schema refuses (also a ValueError)
    │   ├── InvalidId
    │   └── InvalidTime
    ├── StoreError
    │   ├── StoreNotFound
    │   ├── NotAStore
    │   ├── NewerSchema
    │   ├── StoreBusy
    │   ├── StoreFull
    │   ├── StoreDamaged
    │   ├── IndexTaken
    │   ├── NetworkFilesystem
    │   ├── NotEmpty
    │   ├── UnknownSession
    │   ├── AmbiguousSession
    │   ├── UnknownPattern
    │   ├── SessionEvicted
    │   ├── ArchiveError
    │   ├── CannotForget
    │   ├── LakeError
    │   └── LiveError          a live session could not do what it was asked to
    │       ├── UnknownLiveSession (also a ValueError)
    │       ├── SessionExists      (also a ValueError)
    │       ├── SpawnTooDeep       (also a ValueError)
    │       ├── NotOnPath          (also a ValueError)
    │       ├── SessionClosed
    │       ├── HeadMoved
    │       ├── LeaseHeld
    │       ├── LeaseLost
    │       ├── CannotFold         (also a ValueError)
    │       ├── CannotUnfold       (also a ValueError)
    │       └── NothingToUndo
    ├── SourceError
    │   └── SourceUnreadable
    ├── AdapterError
    │   ├── UnknownFlavor
    │   └── AdapterFailed
    ├── ConfigError
    ├── LessonError            a lesson could not be changed, written or taken back
    │   ├── UnknownLesson
    │   ├── BrokenLesson
    │   ├── TooLittleEvidence
    │   ├── BrokenMarkers
    │   └── NotApplied
    ├── CannotResume           no agent can go on with this session
    ├── MissingExtra           an integration without its library (also an ImportError)
    └── UnsafePath

A message is a lower-case fact with its values; a hint is what to do next. Bad *input* is no
exception but a problem that travels along with the data.
"""

import re
import reprlib
from collections.abc import Iterable
from typing import Any, ClassVar, Self


class SessionMemoryError(Exception):
    """The root. `kind` names the error in the JSON of the CLI, `hint` says what to do about it."""

    kind: ClassVar[str] = "session_memory_error"
    hint: str | None = None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls the class with the message alone, which fails for constructors that
        # want more: a worker process that raised one would take its whole pool down.
        return type(self)._restored, (self.args, self.__dict__)

    @classmethod
    def _restored(cls, args: tuple[Any, ...], state: dict[str, Any]) -> Self:
        error = cls.__new__(cls)
        error.args = args
        error.__dict__.update(state)
        return error


class InvalidRecord(SessionMemoryError, ValueError):
    """A value that the schema refuses. `field` names it, dotted where it lies deeper."""

    def __init__(self, message: str, hint: str | None = None, *, field: str) -> None:
        super().__init__(message, hint)
        self.field = field

    def within(self, outer: str) -> Self:
        """The same refusal, seen from the record that holds this one in its field `outer`."""
        return type(self)(f"{outer}.{self}", self.hint, field=f"{outer}.{self.field}")


class InvalidId(InvalidRecord):
    """An id that is none, or that disagrees with its parts."""


class InvalidTime(InvalidRecord):
    """A time that is no time."""

    hint = "Write it as 2026-07-01T10:00:00.000Z."


class StoreError(SessionMemoryError):
    """The store could not do what it was asked to."""


class StoreNotFound(StoreError):
    """There is no store at this place."""

    hint = "Create it with: session-memory sync, or name another in SESSION_MEMORY_STORE."

    def __init__(self, path: str) -> None:
        super().__init__(f"no store at {path}")


class NotAStore(StoreError):
    """What is at this place is something else. It was left untouched."""

    hint = "Name a store with --store or SESSION_MEMORY_STORE; if this was one, restore a backup."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is no store: {reason}")


class NewerSchema(StoreError):
    """A newer release wrote the store. It was left untouched."""

    hint = "Upgrade with: pip install --upgrade session-memory"

    def __init__(self, path: str, *, found: int, known: int) -> None:
        super().__init__(f"{path} has schema {found}, this release knows {known}")
        self.found = found
        self.known = known


class StoreBusy(StoreError):
    """Another process held the store for longer than we wait. Nothing was written."""

    hint = "Run it again when the other command has finished."

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is held by another process")


class StoreFull(StoreError):
    """The disk or the quota is full. The operation was rolled back whole."""

    hint = "Free some space and run it again; nothing was lost."

    def __init__(self, path: str) -> None:
        super().__init__(f"no space left to write {path}")


class StoreDamaged(StoreError):
    """The bytes of the store are not those that were written."""

    hint = "See what is affected with: session-memory verify, then restore a backup."

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(f"{what} is damaged: {detail}")


class IndexTaken(StoreError):
    """Another process began to build the index while this one was at it."""

    hint = "Let it finish; a search meanwhile asks the old index and says what is missing."

    def __init__(self, where: str) -> None:
        super().__init__(f"another process builds the index of {where} now")


class NetworkFilesystem(StoreError):
    """The store lies on a network file system, whose locks cannot be trusted."""

    hint = "Set SESSION_MEMORY_STORE to a path on a local disk."

    def __init__(self, path: str, filesystem: str) -> None:
        super().__init__(f"{path} is on a network file system ({filesystem})")


class NotEmpty(StoreError):
    """The target already holds data, which would be overwritten or mixed."""

    hint = "Choose an empty target."

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is not empty")


class UnknownSession(StoreError):
    """The store holds no such session."""

    hint = "List them with: session-memory sessions"

    def __init__(self, uid: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no session {shown(uid)}", _did_you_mean(near))


class AmbiguousSession(StoreError):
    """Several sessions begin like this, or it is too short to tell."""

    hint = "Give more of the id; session-memory sessions lists them."


class UnknownPattern(StoreError):
    """The analyzed sessions show no such pattern."""

    hint = "List them with: session-memory patterns"

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no pattern {shown(name)}", _did_you_mean(near))


class SessionEvicted(StoreError):
    """The session's raw and events are no longer in the store."""

    def __init__(self, session: str, file: str | None) -> None:
        where = f"its raw is in the archive {file}" if file else "its raw was dropped for good"
        super().__init__(f"session {session} was evicted: {where}")
        if file:
            self.hint = f"Bring it back with: session-memory restore {session}"
        else:
            self.hint = "Its cost and its digest stay; the log itself may still be the agent's."


class ArchiveError(StoreError):
    """An archive is not there, cannot be written, or does not hold what it should."""

    hint = "See what there is with: session-memory archive list; name the place: archive_dir."


class CannotForget(StoreError):
    """Forgetting one session would take something of another along."""


class LakeError(StoreError):
    """A question to the lake that it cannot answer, or there is no lake yet."""

    hint = "Tables: sessions, events, usage; make or renew them with: session-memory lake export"


class LiveError(StoreError):
    """A live session could not do what it was asked to. Nothing was written."""


class UnknownLiveSession(LiveError, ValueError):
    """There is no such live session, or it was closed."""

    hint = "List them with: session-memory live list"

    def __init__(self, session: str) -> None:
        super().__init__(f"unknown session: {shown(session)}")


class SessionExists(LiveError, ValueError):
    """The id is taken; what it names was left as it is."""

    hint = "Leave the id out to get a new one, or append to the session that has it."

    def __init__(self, session: str) -> None:
        super().__init__(f"session {shown(session)} exists already")


class SpawnTooDeep(LiveError, ValueError):
    """A subagent of a subagent of a subagent may have no subagents."""

    hint = "Let the parent do it, or start a session of its own."

    def __init__(self, parent: str, depth: int, deepest: int) -> None:
        super().__init__(f"spawn depth {depth} below {shown(parent)} exceeds {deepest}")


class NotOnPath(LiveError, ValueError):
    """The message is none of those between the session's beginning and its head."""

    hint = "Give the seq of a message that session-memory live show lists."

    def __init__(self, session: str, seq: object) -> None:
        super().__init__(f"message {shown(seq)} is not on the path of session {shown(session)}")


class SessionClosed(LiveError):
    """An archived or closed session refuses to change."""

    def __init__(self, session: str, status: str) -> None:
        hint = "Take it out of the archive first." if status == "archived" else None
        super().__init__(f"session {shown(session)} is {status}", hint)


class HeadMoved(LiveError):
    """Another writer moved the head between your read and your append."""

    hint = "Load the session again and append after its present head."

    def __init__(self, session: str, *, expected: int | None, found: int | None) -> None:
        super().__init__(f"session {shown(session)} is at message {found}, not at {expected}")


class LeaseHeld(LiveError):
    """Another owner has the right to write."""

    def __init__(self, session: str, owner: str, left_ms: int) -> None:
        left = max(left_ms, 0) / 1000
        hint = f"It ends in {left:.1f} s unless it is renewed; its holder writes with fence=."
        super().__init__(f"session {shown(session)} is leased to {shown(owner)}", hint)


class LeaseLost(LiveError):
    """A newer lease was given out; a write with the old one was refused."""

    hint = "Acquire the lease again and load the session anew."

    def __init__(self, session: str, *, fence: int, held: int) -> None:
        super().__init__(f"session {shown(session)} is at fence {held}, not at {fence}")


class CannotFold(LiveError, ValueError):
    """These messages cannot be put behind a note."""

    hint = "Let plan_compaction choose them from the context as it is now."

    def __init__(self, session: str, reason: str) -> None:
        super().__init__(f"cannot compact session {shown(session)}: {reason}")


class CannotUnfold(LiveError, ValueError):
    """This fold cannot be undone as things are."""

    hint = "Undo the newest one first; session-memory live show lists them."

    def __init__(self, session: str, fold: object, reason: str) -> None:
        super().__init__(f"cannot undo compaction {fold} of {shown(session)}: {reason}")


class NothingToUndo(LiveError):
    """The session was never rewound or cleared, or all of that was undone."""

    def __init__(self, session: str) -> None:
        super().__init__(f"nothing to undo in session {shown(session)}")


class SourceError(SessionMemoryError):
    """A native log could not be used as a whole."""


class SourceUnreadable(SourceError):
    """A native log could not be opened or read."""

    hint = "Check that the file exists and that you may read it."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read {path}: {reason}")


class AdapterError(SessionMemoryError):
    """An adapter broke its promise."""


class UnknownFlavor(AdapterError):
    """No adapter is registered for this flavor."""

    hint = "Check the spelling, or install the package that brings its adapter."

    def __init__(self, flavor: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no adapter for {shown(flavor)}", _did_you_mean(near))


_LONGEST_REASON = 300


class AdapterFailed(AdapterError):
    """An adapter raised an exception: when it was loaded, or over the file at ``path``."""

    hint = "Update or remove the package that brings the adapter; nothing else depends on it."

    def __init__(self, flavor: str, error: BaseException, path: str = "") -> None:
        self.flavor, self.path = flavor, path
        where = f" over {path!r}" if path else ""
        what = type(error).__name__
        if reason := " ".join(str(error).split()):
            what += f": {reason[:_LONGEST_REASON]}"
        super().__init__(f"the adapter of {flavor} failed{where}: {what}")


class ConfigError(SessionMemoryError):
    """The configuration says something that cannot be followed."""

    hint = "Correct the configuration file and run the command again."


class LessonError(SessionMemoryError):
    """A lesson could not be changed, written to a file or taken back. Nothing was written."""


class UnknownLesson(LessonError):
    """The folder holds no such lesson."""

    hint = "List them with: session-memory lessons list"

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no lesson {shown(name)}", _did_you_mean(near))


class BrokenLesson(LessonError):
    """The file of a lesson says something that cannot be followed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}", f"Mend {path}; its versions lie beside it.")


class TooLittleEvidence(LessonError):
    """Too few sessions show it for what was asked."""

    def __init__(self, name: str, *, found: int, needed: int, setting: str) -> None:
        seen = "1 session shows" if found == 1 else f"{found} sessions show"
        super().__init__(f"{seen} {shown(name)}, {needed} are needed")
        self.hint = f"Wait for more, say --force, or set [lessons] {setting} lower."


class BrokenMarkers(LessonError):
    """The lines between which lessons stand in a file are not one pair."""

    def __init__(self, path: str, reason: str) -> None:
        hint = "Remove the lines with 'session-memory lessons' that do not belong there."
        super().__init__(f"{path}: {reason}", hint)


class NotApplied(LessonError):
    """There is nothing of ours in this file to take back."""

    hint = "See what is live where with: session-memory lessons live"

    def __init__(self, path: str) -> None:
        super().__init__(f"nothing was applied to {path}")


class CannotResume(SessionMemoryError):
    """A session that its agent cannot go on with, or of an agent nobody knows how to start."""


class MissingExtra(SessionMemoryError, ImportError):
    """An integration was imported, but the library it is for is not installed."""

    def __init__(self, extra: str) -> None:
        hint = f"Install it with: pip install 'session-memory[{extra}]'"
        super().__init__(f"this integration needs {extra}, which is not installed", hint)


class UnsafePath(SessionMemoryError):
    """Writing here would leave the directory, overwrite a file or follow a link."""

    hint = "Choose a new, empty directory as the target."


def shown(value: object) -> str:
    """``value`` as a message may show it: short, on one line, control characters escaped."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits.
        return f"a very large {type(value).__name__}"


def _did_you_mean(near: Iterable[str]) -> str | None:
    words = " or ".join(near)
    return f"Did you mean {words}?" if words else None


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
