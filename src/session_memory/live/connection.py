"""What every part of the live store stands on: one database, one transaction an operation.

A write begins with an update of its session's row that says who may write: it locks the row where
the database locks rows, and finds nothing when the session is archived, leased or elsewhere.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import (
    HeadMoved,
    InvalidId,
    InvalidRecord,
    LeaseHeld,
    LeaseLost,
    SessionClosed,
    UnknownLiveSession,
)
from session_memory.core.text import short_repr
from session_memory.core.time import now_ms
from session_memory.store.database import Database, Row, forks

# Ids become parts of file names elsewhere; nothing that could leave a directory gets in.
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}")

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode

# A day is the longest lease there is. One that seems to end later was taken by a clock that was
# wrong, and must not keep everybody out until then.
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
_WHY = """
    select status, head, fence, lease_owner, lease_until from live_sessions
    where session_id = :session
"""


class LiveConnection:
    """Operations are safe for many threads and processes; each is all or nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._begin()

    def _begin(self) -> None:
        self._forks = forks()
        # One SQLite connection serves all threads, one at a time; a server gives each its own.
        is_server = self._db.name.startswith("postgresql:")
        self._lock: AbstractContextManager[Any] = nullcontext() if is_server else threading.RLock()

    @property
    def _exclusive(self) -> AbstractContextManager[Any]:
        if self._forks != forks():
            # Whoever held the lock when this process was forked off is not in it.
            self._begin()
        return self._lock

    # Generators, though classes would be faster: one that an interrupt drops heals itself, and
    # `with` takes a lock and makes sure of its release in one step.
    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._exclusive, self._db.transaction(shared=True):
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._exclusive, self._db.snapshot():
            yield

    # ------------------------------------------------------------ within a transaction

    def _change(
        self,
        sql: str,
        session_id: str,
        fence: int | None = None,
        expect: int | None = None,
        **params: Any,
    ) -> Row:
        """Run an update of the session's row that says ``{guard}``; what it returns."""
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
            params["fence"] = fence
        if expect is not None:
            params["expect"] = expect
        found = None
        if is_usable(session_id):
            found = self._db.one(guarded(sql, fence is not None, expect is not None), params)
        if found is None:
            raise self._refusal(session_id, fence, expect)
        return found

    def _hold(
        self, session_id: str, fence: int | None = None, expect: int | None = None
    ) -> tuple[int, int, int, int]:
        """Keep others from writing to the session: ``(key, lane, head, next seq)``."""
        key, branch, head, next_seq = self._change(_HOLD, session_id, fence, expect)
        return key, branch, head, next_seq

    def _lock_row(self, session_id: str) -> tuple[int, int, int, int]:
        """The same for whoever writes nothing to it: archived, leased and closed ones too."""
        key, branch, head, next_seq = self._change(_LOCK, session_id)
        return key, branch, head, next_seq

    def _refusal(
        self, session_id: str, fence: int | None = None, expect: int | None = None
    ) -> Exception:
        """Why a write found no session to write to."""
        found = self._db.one(_WHY, {"session": session_id}) if is_usable(session_id) else None
        if found is None:
            return UnknownLiveSession(session_id)
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
    """A lease keeps out whoever does not show its fence; a fence keeps out whoever lost it."""
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
    """A session id that is safe everywhere, or an error that says what is wrong with it."""
    if not isinstance(session_id, str) or not is_usable(session_id):
        raise InvalidId(
            f"session_id is not usable: {short_repr(session_id)}",
            "Use letters, digits and . _ : @ + -, at most 200, the first a letter or digit.",
            field="session_id",
        )
    return session_id


# ---------------------------------------------------------------- JSON


def to_json(value: Any, field: str) -> str:
    """A value as text that both databases can hold and `from_json` reads back as it was."""
    try:
        text = encode(value).decode()
        return _with_odd_floats(value, text) if "null" in text else text
    except UnicodeEncodeError:
        return _plain(value, field)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _no_json(field, error) from error


def _with_odd_floats(value: Any, text: str) -> str:
    """NaN and the infinities are no JSON, and msgspec makes them null without a word."""
    try:
        plain = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError):
        return text
    return plain if "NaN" in plain or "Infinity" in plain else text


def _plain(value: Any, field: str) -> str:
    """In ASCII alone: half a surrogate pair is an escape there like any other."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(field, error) from error


def _no_json(field: str, error: Exception) -> InvalidRecord:
    return InvalidRecord(f"{field} is no JSON: {error}", field=field)


def from_json(text: str | bytes) -> Any:
    try:
        return decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def place_of(path: str | Path) -> str | Path:
    return path if isinstance(path, str) and "://" in path else Path(path).expanduser()
