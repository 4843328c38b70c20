"""Follow a session: get its messages as any process appends them.

A follower continues after the last seq it saw. It polls the session's revision, which reads one row
regardless of the session's length.
"""

import time
from collections.abc import Iterator

from session_memory.live.arguments import whole
from session_memory.live.connection import is_usable
from session_memory.live.message_reading import OF_SESSION
from session_memory.live.messages import MessageOperations
from session_memory.live.rows import MessageRow

POLL_S = 0.05
LONGEST_POLL_S = 0.25

_REVISION = "select revision, status from live_sessions where session_id = :session"

_FORKED = "select forked_from, next_seq from live_sessions where id = :key"
_FIRST = """
    select min(seq) from live_messages
    where lane_id in (select id from live_lanes where session_key = :key)
"""


class FollowOperations(MessageOperations):
    def events(
        self,
        session_id: str,
        *,
        after: int = 0,
        quiet_for: float | None = None,
        poll: float = POLL_S,
    ) -> Iterator[MessageRow]:
        """Yield messages with a seq above ``after``, in order, as they are appended.

        Ends when the session is closed, or after ``quiet_for`` seconds without a message.
        """
        quiet_since, wait = time.monotonic(), poll
        seen: int | None = None
        while True:
            revision, status = self._revision(session_id)
            if revision != seen:
                seen = revision
                for message in self.messages_after(session_id, after):
                    after = message.seq
                    quiet_since, wait = time.monotonic(), poll
                    yield message
            elif status == "closed" or is_over(quiet_since, quiet_for):
                return
            else:
                time.sleep(wait)
                wait = min(wait * 1.5, max(poll, LONGEST_POLL_S))

    def messages_after(self, session_id: str, after: int) -> list[MessageRow]:
        """Return every message with a seq above ``after``, rewound ones and notes too."""
        whole(after, "after")
        with self._reading():
            key = self._position(session_id)[0]
            rows = self._db.all(OF_SESSION, {"key": key, "after": after})
            found = {m.seq: m for m in self._messages(session_id, rows)}
            if after < self._shared(key):
                past = self._path(session_id, self._inherited(key))
                notes = self._folds(session_id, key)[1].values()
                found.update((m.seq, m) for m in (*past, *notes) if m.seq > after)
        return [found[seq] for seq in sorted(found)]

    def _shared(self, key: int) -> int:
        """Return the last seq that a fork inherited.

        Messages appended to the fork have higher ones.
        """
        forked_from, next_seq = self._db.one(_FORKED, {"key": key}) or (None, 0)
        if forked_from is None:
            return 0
        first = self._db.value(_FIRST, {"key": key})
        return int(next_seq if first is None else first) - 1

    def _revision(self, session_id: str) -> tuple[int, str]:
        with self._exclusive:
            params = {"session": session_id}
            found = self._db.one(_REVISION, params) if is_usable(session_id) else None
        if found is None:
            raise self._unknown(session_id)
        return found[0], found[1]


def is_over(quiet_since: float, quiet_for: float | None) -> bool:
    return quiet_for is not None and time.monotonic() - quiet_since >= quiet_for
