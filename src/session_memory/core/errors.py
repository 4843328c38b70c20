"""Every exception this package raises on purpose. Catch `SessionMemoryError` and you have them all.

    SessionMemoryError
    ├── InvalidRecord          a value that the schema refuses (also a ValueError)
    │   ├── InvalidId
    │   └── InvalidTime
    ├── StoreError
    │   ├── StoreNotFound
    │   ├── NewerSchema
    │   ├── StoreBusy
    │   ├── StoreFull
    │   ├── StoreDamaged
    │   ├── NetworkFilesystem
    │   ├── NotEmpty
    │   ├── UnknownSession
    │   └── AmbiguousSession
    ├── SourceError
    │   └── SourceUnreadable
    ├── AdapterError
    │   └── UnknownFlavor
    ├── ConfigError
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


class ConfigError(SessionMemoryError):
    """The configuration says something that cannot be followed."""

    hint = "Correct the configuration file and run the command again."


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
