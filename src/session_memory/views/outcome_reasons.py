"""Say why a session has its outcome, with the first event that is evidence for it."""

import msgspec

from session_memory.store import Store
from session_memory.store.digests import Digests

_WORDS = {
    "last_word": "your last words",
    "interrupted": "you interrupted it",
    "commit": "a commit, push or pull request",
    "error": "an error at the end",
    "gave_up": "the agent gave up",
    "no_output": "the agent never answered",
    "plan": "you accepted a plan",
    "handover": "a handoff was written",
    "asked": "the agent asks back",
    "open": "a call has no result",
    "nothing": "the log breaks off",
    "answered": "only the agent says so",
    "unverified": "changes without a test or commit",
}


class OutcomeReason(msgspec.Struct, frozen=True):
    """The reason in words, and the event that is its first evidence; None without any."""

    words: str
    event_uid: str | None


class _Outcome(msgspec.Struct):
    outcome: str
    reason: str
    evidence: tuple[str, ...] = ()


class _OutcomeOfDigest(msgspec.Struct):
    """The one field of a digest that is read here. The modules of digests take long to import."""

    outcome: _Outcome


_DIGEST = msgspec.json.Decoder(_OutcomeOfDigest)


def reason_words(outcome: str, reason: str) -> str:
    """Say a reason of `docs/learning.md` in words."""
    if reason == "tests":
        return "tests passed" if outcome == "success" else "tests failed"
    return _WORDS.get(reason, reason)


def outcome_reason(store: Store, uid: str) -> OutcomeReason | None:
    """Return why a session has its outcome; None if it was not analyzed."""
    body = Digests(store.db).body(uid)
    if body is None:
        return None
    found = _DIGEST.decode(body).outcome
    words = reason_words(found.outcome, found.reason)
    return OutcomeReason(words, found.evidence[0] if found.evidence else None)
