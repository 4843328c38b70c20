"""Read stored digests."""

from typing import TYPE_CHECKING

from session_memory import redact
from session_memory.learn.digest import DIGEST_VERSION, Digest, decoded
from session_memory.store.digests import Digests

if TYPE_CHECKING:
    from session_memory.store.store import Store


def digest_of(store: "Store", uid: str) -> Digest | None:
    """Return the stored digest of a session, or None if it was never analyzed."""
    body = Digests(store.db).body(uid)
    if body is None:
        return None
    digest = decoded(body)
    # The digest of an evicted session may come from a release that did not mask secrets yet.
    masked: Digest = digest if digest.version == DIGEST_VERSION else redact.mask_values(digest)
    return masked
