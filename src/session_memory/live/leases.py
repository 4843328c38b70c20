"""Leases: the exclusive right to write to a session for some time.

Each lease has a higher fence number than the one before. Every write statement checks the fence it
is given, so a writer whose lease was taken over cannot write, even if its write arrives late. While
a lease is valid, a write without a fence is refused too.
"""

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import escaped, short_repr
from session_memory.live.arguments import text, whole
from session_memory.live.connection import LONGEST_LEASE_MS, LiveConnection, is_usable, now
from session_memory.live.rows import Lease

TTL_MS = 30_000

_TAKE = f"""
    update live_sessions
    set fence = fence + 1, lease_owner = :owner, lease_until = :until
    where session_id = :session and status = 'active'
      and (lease_owner is null or lease_owner = :owner or lease_until <= :now
        or lease_until > :now + {LONGEST_LEASE_MS} or :force = 1)
    returning fence
"""
_RENEW = """
    update live_sessions set lease_until = :until
    where session_id = :session and fence = :fence and lease_owner = :owner
    returning fence
"""
# The fence grows, so that the released lease cannot be used again.
_RELEASE = """
    update live_sessions set lease_owner = null, lease_until = 0, fence = fence + 1
    where session_id = :session and fence = :fence and lease_owner = :owner
    returning fence
"""
_HOLDER = f"""
    select lease_owner, fence, lease_until from live_sessions
    where session_id = :session and lease_owner is not null and lease_until > :now
      and lease_until <= :now + {LONGEST_LEASE_MS}
"""


class LeaseOperations(LiveConnection):
    def acquire_lease(
        self, session_id: str, owner: str, *, ttl_ms: int = TTL_MS, force: bool = False
    ) -> Lease:
        """Take the lease for ``ttl_ms`` milliseconds. Raises if another owner holds a valid lease.

        ``force`` takes it anyway: use it when you know that the owner is gone.
        """
        at = now()
        params = {"owner": text(owner, "owner"), "until": at + _checked(ttl_ms), "now": at}
        params["force"] = int(bool(force))
        with self._writing():
            fence = None
            if is_usable(session_id):
                fence = self._db.value(_TAKE, {"session": session_id, **params})
            if fence is None:
                raise self._refusal(session_id)
        return Lease(session_id, owner, int(fence), at + ttl_ms)

    def renew_lease(self, lease: Lease, *, ttl_ms: int = TTL_MS) -> Lease:
        until = now() + _checked(ttl_ms)
        with self._writing():
            if self._db.one(_RENEW, {**_params(lease), "until": until}) is None:
                raise self._refusal(lease.session_id, lease.fence)
        return Lease(lease.session_id, lease.owner, lease.fence, until)

    def release_lease(self, lease: Lease) -> bool:
        """Give the lease back. Returns False if it was lost before."""
        with self._writing():
            return self._db.one(_RELEASE, _params(lease)) is not None

    def lease_holder(self, session_id: str) -> Lease | None:
        """The valid lease of a session, or None."""
        if not is_usable(session_id):
            return None
        with self._reading():
            found = self._db.one(_HOLDER, {"session": session_id, "now": now()})
        return None if found is None else Lease(session_id, *found)


def _checked(ttl_ms: int) -> int:
    if isinstance(ttl_ms, int) and ttl_ms > LONGEST_LEASE_MS:
        raise InvalidRecord(
            f"ttl_ms must be at most a day, not {short_repr(ttl_ms)}", field="ttl_ms"
        )
    return whole(ttl_ms, "ttl_ms")


def _params(lease: Lease) -> dict[str, object]:
    if not isinstance(lease, Lease):
        raise InvalidRecord(f"{short_repr(lease)} is not a lease", field="lease")
    return {
        "session": lease.session_id,
        "owner": escaped(lease.owner),
        "fence": lease.fence,
    }
