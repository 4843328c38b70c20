"""Check stored digests: read all of them, and make some again for comparison."""

from collections.abc import Collection

import msgspec

from session_memory.learn.analyze import prices_id
from session_memory.learn.digest import decoded, encoded
from session_memory.learn.session_rows import read_session
from session_memory.learn.version import analysis_version
from session_memory.pricing import session_amounts
from session_memory.store.digests import DigestRow, Digests
from session_memory.store.recall import Recall
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

_AGAIN = "; run: session-memory analyze "


class DigestCheck(msgspec.Struct):
    """The result of a check of digests.

    Of ``all`` digests, ``read`` could be read, and ``compared`` were made again. ``findings`` are
    sentences about the digests that are wrong.
    """

    all: int = 0
    read: int = 0
    compared: int = 0
    findings: list[str] = []


def check_digests(store: Store, sampled: Collection[str]) -> DigestCheck:
    """Read every stored digest; for the sampled sessions, make it again and compare the two.

    A digest that was made from another revision of its session, by other analysis code or with
    other prices may rightly differ. So such a digest is only read.
    """
    result, digests = DigestCheck(), Digests(store.db)
    prices, version, wanted = prices_id(store), analysis_version(), set(sampled)
    for row, packed in digests.stored():
        result.all += 1
        try:
            row.body = zstd.decompress(packed)
            digest = decoded(row.body)
        except (zstd.ZstdError, msgspec.MsgspecError) as error:
            result.findings.append(_wrong(row, f"its digest cannot be read: {error}"))
            continue
        result.read += 1
        if (digest.session_uid, digest.outcome.outcome, digest.cost.tokens) != (
            row.session_uid,
            row.outcome,
            row.tokens,
        ):
            result.findings.append(_wrong(row, "its digest differs from its row"))
        elif row.session_uid in wanted and (row.prices, row.analysis) == (prices, version.code):
            with store.db.snapshot():
                _compare(store, row, result)
    return result


def _compare(store: Store, row: DigestRow, result: DigestCheck) -> None:
    session, stored = store.sessions.get(row.session_uid), store.sessions.row(row.session_uid)
    if session is None or stored is None or stored.evicted_at is not None or stored.stale:
        return
    if session.revision != row.revision:
        return
    amount = session_amounts(store, [row.session_uid])[row.session_uid]
    result.compared += 1
    read = read_session(store, stored.id, session, amount)
    if encoded(read.digest) != row.body:
        result.findings.append(_wrong(row, "its digest differs from its events"))
    elif read.terms != _stored_terms(store, row.session_uid):
        result.findings.append(_wrong(row, "its terms differ from its events"))


def _stored_terms(store: Store, uid: str) -> dict[str, int] | None:
    """Return the stored terms of a session.

    None if there are none, if they are damaged, or if the index lacks one of them.
    """
    recall = Recall(store.db)
    try:
        terms = recall.terms_of(uid)
    except (zstd.ZstdError, msgspec.MsgspecError):
        return None
    return terms if terms is not None and recall.is_whole(uid, terms) else None


def _wrong(row: DigestRow, what: str) -> str:
    return f"{row.session_uid}: {what}{_AGAIN}{row.session_uid}"
