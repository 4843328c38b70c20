"""Analyzed stores for tests, and what is asked of them again and again."""

from pathlib import Path

from session_memory.learn.analyze import analyze
from session_memory.learn.digest import Digest
from session_memory.learn.digests import digest_of
from session_memory.store import Store
from session_memory.store.digests import Digests
from session_memory.store.recall import Recall
from session_memory.testing.claude import ClaudeHome, ClaudeLog
from session_memory.testing.collecting import collected, events_of

NOW = 1_800_000_000_000


def analyzed(root: Path) -> Store:
    """A new store with everything below ``root``, analyzed."""
    store = collected(root)
    analyze(store, now=NOW)
    return store


def digest(store: Store, uid: str) -> Digest:
    found = digest_of(store, uid)
    assert found is not None, f"{uid} was not analyzed"
    return found


def digest_of_log(claude: ClaudeHome, log: ClaudeLog) -> Digest:
    with analyzed(claude.write()) as store:
        return digest(store, log.uid)


def bodies(store: Store) -> dict[str, bytes]:
    """The bytes of every digest."""
    digests = Digests(store.db)
    return {uid: digests.body(uid) or b"" for uid in store.sessions.uids()}


def terms(store: Store) -> dict[str, dict[str, int] | None]:
    """The terms by which every session is found again."""
    recall = Recall(store.db)
    return {uid: recall.terms_of(uid) for uid in store.sessions.uids()}


def outcome_of(store: Store, uid: str) -> tuple[str, str, list[str]]:
    """The outcome, its reason, and the summaries of the events that prove it."""
    outcome = digest(store, uid).outcome
    summaries = {event.event_uid: event.summary for event in events_of(store, uid)}
    return outcome.outcome, outcome.reason, [summaries[event] for event in outcome.evidence]


def two_timeouts(home: ClaudeHome) -> ClaudeHome:
    """Two sessions, each with one command that timed out."""
    for name in ("one", "two"):
        log = home.session(name)
        log.prompt("run it")
        log.run("make all", "command timed out after 60 s", exit_code=1)
        log.answer("It timed out.")
    return home
