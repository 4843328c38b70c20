"""The database connection of the live store, and the checks before every write.

Each operation is one transaction. A write starts with an update of its session's row. The update
locks the row (on PostgreSQL). It matches no row if the session is archived or closed, is leased by
another writer, or is at another head. Then the write is refused.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from threading import get_ident
from typing import Any

import msgspec

from session_memory.core.errors import InvalidId, InvalidRecord
from session_memory.core.live_errors import (
    HeadMoved,
    LeaseHeld,
    LeaseLost,
    SessionClosed,
    UnknownLiveSession,
)
from session_memory.core.text import short_repr
from session_memory.core.time import now_ms
from session_memory.live.arguments import whole
from session_memory.live.batches import Batch
from session_memory.store.database import Database, Row, forks

# Ids become parts of file names elsewhere, so they must not contain path separators.
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}")

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode

# No lease lasts longer than a day. A lease that ends later was taken with a wrong clock and is
# ignored.
LONGEST_LEASE_MS = 86_400_000

_FREE = f"""
    and (lease_owner is null or lease_until <= :now or lease_until > :now + {LONGEST_LEASE_MS})
"""
_FENCED = " and fence = :fence"
_EXPECTED = " and head = :expect"
_HOLD = """
    update live_sessions set fence = fence
    where session_id = :session and status = 'active'{guard}
    returning id, lane_id, head, next_seq
"""
_LOCK = """
    update live_sessions set fence = fence where session_id = :session
    returning id, lane_id, head, next_seq
"""
IS_EVICTED = "select 1 from sessions where uid = :uid and evicted_at is not null"
_WHY = """
    select status, head, fence, lease_owner, lease_until from live_sessions
    where session_id = :session
"""


class LiveConnection:
    """The base class of all live operations, which are safe for many threads and processes."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._begin()

    def _begin(self) -> None:
        self._forks = forks()
        # All threads share one SQLite connection, so they take turns. On PostgreSQL each thread
        # has its own connection.
        is_server = self._db.name.startswith("postgresql:")
        self._lock: AbstractContextManager[Any] = nullcontext() if is_server else threading.RLock()
        self._writer: int | None = None
        self._batches = threading.local()

    @property
    def _exclusive(self) -> AbstractContextManager[Any]:
        if self._forks != forks():
            # After a fork the lock may be held by a thread that does not exist in this process.
            self._begin()
        return self._lock

    # These are generators although classes would be faster: after an interrupt a dropped generator
    # still rolls back and releases the lock.
    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._writer not in (None, get_ident()):
            self._db.crowd()
        # On one line: an interrupt must not come between the end of one block and that of the next.
        with self._exclusive, self._db.transaction(shared=True) as is_unsynced:
            self._writer = get_ident()
            yield
            self._writer = None
        if is_unsynced:
            # Outside of the lock, so that other threads write meanwhile.
            batch: Batch | None = getattr(self._batches, "batch", None)
            (batch.postpone if batch else self._db.sync)()

    @contextmanager
    def _batch(self) -> Iterator[Batch]:
        """Within this block, operations of this thread leave their sync to ``batch.sync()``."""
        batch = self._batches.batch = Batch(self._db)
        try:
            yield batch
        finally:
            self._batches.batch = None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._exclusive, self._db.snapshot():
            yield

    def _change(
        self,
        sql: str,
        session_id: str,
        fence: int | None = None,
        expect: int | None = None,
        **params: Any,
    ) -> Row:
        """Run an update that contains ``{guard}`` and return its row; raise if it is refused."""
        params.update(session=session_id, now=now())
        return self._changed(sql, session_id, fence, expect, params)

    def _changed(
        self,
        sql: str,
        session_id: str,
        fence: int | None,
        expect: int | None,
        params: dict[str, Any],
    ) -> Row:
        if fence is not None:
            params["fence"] = whole(fence, "fence")
        if expect is not None:
            params["expect"] = whole(expect, "expect")
        found = None
        if is_usable(session_id):
            found = self._db.one(guarded(sql, fence is not None, expect is not None), params)
        if found is None:
            raise self._refusal(session_id, fence, expect)
        return found

    def _hold(
        self, session_id: str, fence: int | None = None, expect: int | None = None
    ) -> tuple[int, int, int, int]:
        """Lock the session for a write. Returns ``(key, branch, head, next seq)``."""
        key, branch, head, next_seq = self._change(_HOLD, session_id, fence, expect)
        return key, branch, head, next_seq

    def _lock_row(self, session_id: str) -> tuple[int, int, int, int]:
        """Lock a session without the write checks, even if it is archived, leased or closed."""
        key, branch, head, next_seq = self._change(_LOCK, session_id)
        return key, branch, head, next_seq

    def _unknown(self, session_id: str) -> UnknownLiveSession:
        """Return the error for a missing session, which says so if retention archived it."""
        uid = {"uid": f"live:{session_id}"}
        is_archived = is_usable(session_id) and self._db.one(IS_EVICTED, uid) is not None
        return UnknownLiveSession(session_id, is_archived=is_archived)

    def _refusal(
        self, session_id: str, fence: int | None = None, expect: int | None = None
    ) -> Exception:
        """Return the error that says why a write was refused."""
        found = self._db.one(_WHY, {"session": session_id}) if is_usable(session_id) else None
        if found is None:
            return self._unknown(session_id)
        status, head, held, owner, until = found
        if status != "active":
            return SessionClosed(session_id, status)
        if fence is not None and held != fence:
            return LeaseLost(session_id, fence=fence, held=held)
        if fence is None and owner is not None and (until > now() or expect is None):
            return LeaseHeld(session_id, owner, until - now())
        if expect is None:
            return LeaseLost(session_id, fence=fence or 0, held=held)
        return HeadMoved(session_id, expected=expect, found=head)


@lru_cache(maxsize=128)
def guarded(sql: str, fenced: bool, expected: bool) -> str:
    """Insert the write checks into ``sql``.

    Without a fence, the write is refused while somebody holds the lease. With a fence, it is
    refused if the lease was taken over.
    """
    guard = (_FENCED if fenced else _FREE) + (_EXPECTED if expected else "")
    return sql.replace("{guard}", guard)


def now() -> int:
    return now_ms()


def is_usable(session_id: object) -> bool:
    return isinstance(session_id, str) and _is_name(session_id)


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    return SESSION_ID.fullmatch(text) is not None and ".." not in text


def check_id(session_id: object) -> str:
    """Return a valid session id; raise `InvalidId` for any other value."""
    if not isinstance(session_id, str) or not is_usable(session_id):
        raise InvalidId(
            f"session_id is not usable: {short_repr(session_id)}",
            "Use letters, digits and . _ : @ + -, at most 200, the first a letter or digit.",
            field="session_id",
        )
    return session_id


def to_json(value: Any, field: str) -> str:
    """Encode a value as JSON that both databases can store. `from_json` decodes it."""
    try:
        text = encode(value).decode()
        return _with_odd_floats(value, text) if "null" in text else text
    except UnicodeEncodeError:
        return _plain(value, field)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _no_json(field, error) from error


def _with_odd_floats(value: Any, text: str) -> str:
    """Keep NaN and infinities: msgspec would silently write null for them."""
    try:
        plain = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError):
        return text
    return plain if "NaN" in plain or "Infinity" in plain else text


def _plain(value: Any, field: str) -> str:
    """Encode a value as ASCII JSON, in which a lone surrogate is an ordinary escape."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(field, error) from error


def _no_json(field: str, error: Exception) -> InvalidRecord:
    return InvalidRecord(f"{field} cannot be stored as JSON: {error}", field=field)


def from_json(text: str | bytes) -> Any:
    try:
        return decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def place_of(path: str | Path) -> str | Path:
    return path if isinstance(path, str) and "://" in path else Path(path).expanduser()
