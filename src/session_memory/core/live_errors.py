"""The exceptions about live sessions:

    LiveError                  a StoreError: an operation on a live session failed
    ├── UnknownLiveSession (also a ValueError)
    ├── SessionExists      (also a ValueError)
    ├── SpawnTooDeep       (also a ValueError)
    ├── NotOnPath          (also a ValueError)
    ├── SessionClosed
    ├── SessionInUse
    ├── HeadMoved
    ├── LeaseHeld
    ├── LeaseLost
    ├── CannotFold         (also a ValueError)
    ├── CannotUnfold       (also a ValueError)
    └── NothingToUndo

Every other exception is in `session_memory.core.errors`.
"""

from session_memory.core.errors import StoreError
from session_memory.core.text import short_repr


class LiveError(StoreError):
    """An operation on a live session failed. Nothing was written."""


class UnknownLiveSession(LiveError, ValueError):
    """There is no live session with this id, or it was closed, or retention archived it."""

    hint = "List them with: session-memory live list"

    def __init__(
        self, session: str, reason: str = "unknown session", *, is_archived: bool = False
    ) -> None:
        self.is_archived = is_archived
        if is_archived:
            hint = f"Bring it back with: session-memory restore live:{session}"
            message = f"the session was closed and is archived: {short_repr(session)}"
            super().__init__(message, hint)
        else:
            super().__init__(f"{reason}: {short_repr(session)}")


class SessionExists(LiveError, ValueError):
    """A session with this id exists. It was not changed."""

    hint = "Leave the id out to get a new one, or append to the existing session."

    def __init__(self, session: str, *, is_evicted: bool = False) -> None:
        if is_evicted:
            hint = (
                f"Restore it with restore live:{session}, or delete it with forget live:{session}"
            )
            super().__init__(f"session {short_repr(session)} was closed and is archived", hint)
        else:
            super().__init__(f"session {short_repr(session)} exists already")


class SpawnTooDeep(LiveError, ValueError):
    """The subagent would be nested deeper than the limit allows."""

    hint = "Let the parent do the work, or start a separate session."

    def __init__(self, parent: str, depth: int, deepest: int) -> None:
        below = f"spawn depth {depth} below {short_repr(parent)}"
        super().__init__(f"{below} exceeds the limit of {deepest}")


class NotOnPath(LiveError, ValueError):
    """The message is not on the path from the session's first message to its head."""

    def __init__(self, session: str, seq: object) -> None:
        super().__init__(
            f"message {short_repr(seq)} is not on the path of session {short_repr(session)}",
            "Give the number of a message that is listed by:"
            f" session-memory live show {session} --which path",
        )


class SessionClosed(LiveError):
    """The session is archived or closed, so it cannot be changed."""

    def __init__(self, session: str, status: str) -> None:
        hint = "Call unarchive_session first." if status == "archived" else "Start a new session."
        super().__init__(f"session {short_repr(session)} is {status}", hint)


class SessionInUse(LiveError):
    """The session cannot be erased, because something else needs it. Nothing was erased."""


class HeadMoved(LiveError):
    """Another writer moved the head between your read and your append."""

    hint = "Load the session again and append after its current head."

    def __init__(self, session: str, *, expected: int | None, found: int | None) -> None:
        super().__init__(f"session {short_repr(session)} is at message {found}, not at {expected}")


class LeaseHeld(LiveError):
    """Another owner holds the lease, so only that owner may write."""

    def __init__(self, session: str, owner: str, left_ms: int) -> None:
        left = max(left_ms, 0) / 1000
        hint = f"Wait: the lease ends in {left:.1f} s unless its owner renews it."
        super().__init__(f"session {short_repr(session)} is leased to {short_repr(owner)}", hint)


class LeaseLost(LiveError):
    """A newer lease exists, so a write with the old one was refused."""

    hint = "Acquire the lease again, then load the session again."

    def __init__(self, session: str, *, fence: int, held: int) -> None:
        super().__init__(
            f"the lease with fence {fence} on session {short_repr(session)} was taken over"
            f" (the fence is {held} now)"
        )


class CannotFold(LiveError, ValueError):
    """These messages cannot be replaced by a note."""

    hint = "Let plan_compaction select messages from the current context."

    def __init__(self, session: str, reason: str) -> None:
        super().__init__(f"cannot compact session {short_repr(session)}: {reason}")


class CannotUnfold(LiveError, ValueError):
    """This compaction cannot be undone now."""

    def __init__(self, session: str, fold: object, reason: str) -> None:
        what = "a compaction" if fold is None else f"compaction {fold}"
        newest = "" if fold is None else "Undo the newest compaction first. "
        hint = f"{newest}See the compactions: session-memory live show {session}"
        super().__init__(f"cannot undo {what} of {short_repr(session)}: {reason}", hint)


class NothingToUndo(LiveError):
    """The session has no rewind or clear that is still to be undone."""

    def __init__(self, session: str) -> None:
        hint = f"To undo a compaction: session-memory live undo {session} --compaction"
        super().__init__(f"session {short_repr(session)} has no rewind or clear to undo", hint)
