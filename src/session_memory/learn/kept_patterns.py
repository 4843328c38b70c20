"""Keep the patterns of a large store until a digest is written or deleted.

To find patterns, all sessions have to be compared. That takes seconds for 100,000 sessions.
"""

from functools import cache
from hashlib import blake2b

import msgspec

from session_memory.core.errors import StoreBusy
from session_memory.core.time import MAX_MS, MIN_MS, now_ms
from session_memory.learn.patterns import Pattern, patterns
from session_memory.learn.version import PACKAGE
from session_memory.store.kept_answers import KeptAnswers
from session_memory.store.store import Store

LEAST_SESSIONS = 2_000
"""In a store with fewer sessions nothing is kept: patterns are found each time."""
# Patterns are kept only for periods without an end that have no beginning either, or begin on a
# quarter of an hour. Other periods are hardly asked for again.
_QUARTER_MS = 900_000
_SOURCES = ("learn/*.py", "learn/detect/*.py", "learn/digest/*.py")
_decode = msgspec.json.Decoder(list[Pattern]).decode


def kept_patterns(
    store: Store, *, since: int = MIN_MS, until: int = MAX_MS, repo: str | None = None
) -> list[Pattern]:
    """Return the same as `session_memory.learn.patterns.patterns`: from the store if kept there."""
    is_asked_again = until == MAX_MS and (since == MIN_MS or since % _QUARTER_MS == 0)
    if not is_asked_again or not _is_large(store):
        return patterns(store, since=since, until=until, repo=repo)
    answers, name = KeptAnswers(store.db), _name(since, repo)
    kept = answers.get(name)
    if kept is not None:
        return _decode(kept)
    with store.db.snapshot():
        number = answers.number()
        found = patterns(store, since=since, until=until, repo=repo)
    if not (store.db.in_transaction or store.db.is_read_only):
        try:
            with store.db.transaction():
                answers.put(name, number, now_ms(), msgspec.json.encode(found))
        except StoreBusy:
            # Another process writes for a long time, so the patterns are not kept this time.
            return found
    return found


def are_patterns_slow(store: Store, *, repo: str | None = None) -> bool:
    """Whether the patterns of all times are not kept now, and take long to find."""
    return _is_large(store) and not KeptAnswers(store.db).has(_name(MIN_MS, repo))


def _is_large(store: Store) -> bool:
    return store.sessions.count() >= LEAST_SESSIONS


def _name(since: int, repo: str | None) -> str:
    return f"patterns {_code()} {since} {repo or ''}"


@cache
def _code() -> str:
    """Return a hash of the code that finds patterns. Kept patterns of other code are not used."""
    digest = blake2b(digest_size=8)
    for pattern in _SOURCES:
        for path in sorted(PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()
