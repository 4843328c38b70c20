"""The main exceptions of this project: `SessionMemoryError` and its subclasses.

    SessionMemoryError
    ├── InvalidRecord          a value that the schema rejects (also a ValueError)
    │   ├── InvalidId
    │   └── InvalidTime
    ├── StoreError
    │   ├── StoreNotFound
    │   ├── NotAStore
    │   ├── NewerSchema
    │   ├── StoreClosed
    │   ├── StoreBusy
    │   ├── StoreFull
    │   ├── StoreDamaged
    │   ├── IndexTaken
    │   ├── NetworkFilesystem
    │   ├── NotEmpty
    │   ├── CopyUnfinished
    │   ├── UnknownSession
    │   ├── AmbiguousSession
    │   ├── UnknownEvent
    │   ├── UnknownPattern
    │   ├── SessionEvicted
    │   ├── ArchiveError
    │   ├── CannotForget
    │   └── LakeError
    ├── SourceError
    │   └── SourceUnreadable
    ├── AdapterError
    │   ├── UnknownFlavor
    │   ├── AdapterUnusable
    │   └── AdapterFailed
    ├── ConfigError
    ├── AnalysisFailed         some sessions could not be analyzed; all others were
    ├── CannotResume           no agent can continue this session
    ├── CannotHandOver         a session cannot be continued in another agent
    ├── NoSuchLine             no such file, line or commit in a git repository
    ├── MissingExtra           an optional library is not installed (also an ImportError)
    └── UnsafePath

The errors of live sessions are in `session_memory.core.live_errors`, the errors of lessons in
`session_memory.core.lesson_errors`. They are subclasses of `SessionMemoryError` too.

A message is a lower-case fact with its values. A hint says what to do next. Bad input in a log
raises nothing: it becomes a `Problem` value that is stored with the data.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from session_memory.core.text import exception_text, short_repr


class SessionMemoryError(Exception):
    """The base class of the exceptions. `kind` names the error in the CLI's JSON; `hint` says what
    to do."""

    kind: ClassVar[str] = "session_memory_error"
    hint: str | None = None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, unpickling calls the class with the message alone. That fails for constructors
        # with other parameters, and one such error in a worker process would break its whole pool.
        return type(self)._restored, (self.args, self.__dict__)

    @classmethod
    def _restored(cls, args: tuple[Any, ...], state: dict[str, Any]) -> Self:
        error = cls.__new__(cls)
        error.args = args
        error.__dict__.update(state)
        return error


class InvalidRecord(SessionMemoryError, ValueError):
    """A value that the schema rejects. `field` is its name, dotted when it is nested."""

    def __init__(self, message: str, hint: str | None = None, *, field: str) -> None:
        super().__init__(message, hint)
        self.field = field

    def within(self, outer: str) -> Self:
        """Return the same error with `outer` in front of its field, which is nested in `outer`."""
        return type(self)(f"{outer}.{self}", self.hint, field=f"{outer}.{self.field}")


class InvalidId(InvalidRecord):
    """An id that is not valid, or that does not match its parts."""


class InvalidTime(InvalidRecord):
    """A text that is not a valid time."""

    hint = "Write it as 2026-07-01T10:00:00.000Z."


class StoreError(SessionMemoryError):
    """An operation on the store failed."""


class StoreNotFound(StoreError):
    """There is no store at this path or address."""

    hint = "Create it with: session-memory sync, or set SESSION_MEMORY_STORE to another store."

    def __init__(self, path: str) -> None:
        super().__init__(f"no store at {path}")


class NotAStore(StoreError):
    """The file at this path is not a store. It was not changed."""

    hint = "Name a store with --store or SESSION_MEMORY_STORE. If this file was one, use a backup."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is not a store: {reason}")


class NewerSchema(StoreError):
    """A newer release wrote the store. It was not changed."""

    def __init__(self, path: str, *, found: int, known: int) -> None:
        # Most commands raise no error whose hint names a command to install.
        from session_memory.core.installation import upgrade_hint  # noqa: PLC0415

        message = f"{path} has schema {found}, this release knows only {known}"
        super().__init__(message, upgrade_hint())
        self.found = found
        self.known = known


class StoreClosed(StoreError):
    """The store was used after it had been closed."""

    hint = "Open it again, or close it after its last use."

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is closed")


class StoreBusy(StoreError):
    """Another process locked the store for longer than this process waits. Nothing was written."""

    hint = "Run the command again when the other process has finished."

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is locked by another process")


class StoreFull(StoreError):
    """The disk is full, or the quota is used up. The whole operation was rolled back."""

    hint = "Free some space and run it again; nothing was lost."

    def __init__(self, path: str) -> None:
        super().__init__(f"no space left to write {path}")


class StoreDamaged(StoreError):
    """The bytes in the store differ from those that were written.

    ``in_database``: the database cannot read its own file. Otherwise a stored value is wrong.
    """

    way_on = (
        "Keep the damaged store. Put a backup in its place, or move it away and run session-memory"
        " sync: it collects the logs that the agents still have. To bring out what can be read:"
        " session-memory store copy DAMAGED NEW, or session-memory restore-native --all --to DIR"
    )
    hint = f"List what is affected with: session-memory store verify. {way_on}"
    in_database = False

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(f"{what} is damaged: {detail}")


class IndexTaken(StoreError):
    """Another process started to build the index while this process was building it."""

    hint = "Let the other process finish. Until then a search uses the old index and says so."

    def __init__(self, where: str) -> None:
        super().__init__(f"another process is building the index of {where}")


class NetworkFilesystem(StoreError):
    """The store is on a network file system, whose locks are not reliable."""

    hint = "Set SESSION_MEMORY_STORE to a path on a local disk."

    def __init__(self, path: str, filesystem: str) -> None:
        super().__init__(f"{path} is on a network file system ({filesystem})")


class NotEmpty(StoreError):
    """The target already holds data."""

    hint = "Choose an empty target."

    def __init__(self, path: str, hint: str | None = None) -> None:
        super().__init__(f"{path} is not empty", hint)


class CopyUnfinished(StoreError):
    """The store is the target of a copy that still runs or was killed before its end."""

    def __init__(self, path: str) -> None:
        again = f"session-memory store copy FROM {path}"
        hint = f"Let the copy finish. If it was killed, run it again: {again}"
        super().__init__(f"{path} is the target of a copy that has not finished", hint)


class UnknownSession(StoreError):
    """The store has no session with this id."""

    hint = "List them with: session-memory sessions"

    def __init__(self, uid: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no session {short_repr(uid)}", did_you_mean(near))


class AmbiguousSession(StoreError):
    """Several session ids start with this text, or the text is too short."""

    hint = "Give more of the id. List the ids with: session-memory sessions"


class UnknownEvent(StoreError):
    """The session has no event with this number or id, or several ids start with this text."""

    def __init__(self, message: str, session: str) -> None:
        super().__init__(message, f"Find its number with: session-memory show {session}")


class UnknownPattern(StoreError):
    """The analyzed sessions have no pattern with this id."""

    hint = "List them with: session-memory patterns"

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no pattern {short_repr(name)}", did_you_mean(near))


class SessionEvicted(StoreError):
    """The session's logs and events were evicted from the store."""

    hint = "Its cost and digest are kept. The agent may still have the log."

    def __init__(self, session: str, file: str | None) -> None:
        where = f"its logs are in the archive {file}" if file else "its logs were deleted for good"
        hint = f"Restore it with: session-memory restore {session}" if file else None
        super().__init__(f"session {session} was evicted: {where}", hint)


class ArchiveError(StoreError):
    """An archive is missing, cannot be written, or lacks something that it should hold."""

    hint = "List the archives with: session-memory archive list. archive_dir says where they are."


class CannotForget(StoreError):
    """Forgetting this session would also delete data of another session."""


class LakeError(StoreError):
    """The lake (sessions exported as Parquet files) does not exist or cannot answer a question."""

    hint = "Tables: sessions, events, usage. Write them with: session-memory lake export"


class SourceError(SessionMemoryError):
    """A native log could not be used at all."""


class SourceUnreadable(SourceError):
    """A native log could not be opened or read."""

    hint = "Check that the file exists and that you may read it."

    def __init__(self, path: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"cannot read {path}: {reason}", hint)
        self.path, self.reason = path, reason


class AdapterError(SessionMemoryError):
    """An adapter broke the adapter contract."""


class UnknownFlavor(AdapterError):
    """No adapter is registered for this flavor (kind of agent)."""

    hint = "Check the spelling, or install the package that contains its adapter."

    def __init__(self, flavor: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no adapter for {short_repr(flavor)}", did_you_mean(near))


class AdapterUnusable(AdapterError):
    """Sessions of this flavor cannot be derived: the adapter is missing, too old or broken."""

    hint = "Install or update the package that contains the adapter, then run the command again."

    def __init__(self, flavor: str, problem: str) -> None:
        self.flavor = flavor
        super().__init__(f"the stored logs of {flavor} cannot be read: {problem}")


class AdapterFailed(AdapterError):
    """An adapter raised an exception or returned a wrong value: while it was loaded, while it read
    ``path``, or in its ``function``."""

    hint = "Update or remove the package that contains the adapter. Nothing else depends on it."

    def __init__(
        self, flavor: str, error: BaseException, path: str = "", function: str = ""
    ) -> None:
        self.flavor, self.path, self.function = flavor, path, function
        where = f" in {function}" if function else ""
        where += f" on {path!r}" if path else ""
        super().__init__(f"the adapter of {flavor} failed{where}: {exception_text(error)}")


class ConfigError(SessionMemoryError):
    """The configuration has a value that is not valid."""

    hint = "Correct the configuration file and run the command again."


class AnalysisFailed(SessionMemoryError):
    """Some sessions could not be analyzed. All others were, and their digests are stored."""

    kind = "analysis_failed"

    def __init__(self, failed: Mapping[str, str]) -> None:
        (uid, reason), *more = failed.items()
        others = f" and {len(more):,} more" if more else ""
        super().__init__(
            f"cannot analyze {uid}{others}: {reason}",
            "All other sessions are analyzed. Check the store: session-memory store verify",
        )
        self.failed = dict(failed)


class CannotResume(SessionMemoryError):
    """The agent cannot continue this session, or no command is known that starts the agent."""


class CannotHandOver(SessionMemoryError):
    """The session cannot be written in the format of the agent that should continue it."""


class NoSuchLine(SessionMemoryError):
    """A file, a line of it or a commit is not in a git repository."""


class MissingExtra(SessionMemoryError, ImportError):
    """An optional library is needed but not installed."""

    def __init__(self, extra: str) -> None:
        from session_memory.core.installation import install_hint  # noqa: PLC0415

        super().__init__(
            f"this needs the extra {extra}, which is not installed", install_hint(extra)
        )


class UnsafePath(SessionMemoryError):
    """Writing here would overwrite a file, follow a link or leave the target directory."""

    hint = "Choose a new, empty directory as the target."


def did_you_mean(near: Iterable[str]) -> str | None:
    """A hint with similar names, or None if there are none."""
    words = " or ".join(near)
    return f"Did you mean {words}?" if words else None
