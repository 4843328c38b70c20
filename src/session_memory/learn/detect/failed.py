"""The session ended without success: tests that fail, an error, a complaint."""

from collections.abc import Iterator

from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, signal

_WORDS = {
    "tests": "the last test run failed",
    "error": "an error ended it",
    "last_word": "the last word was a complaint",
}


def failed(digest: Digest) -> Iterator[Signal]:
    told = digest.outcome
    if told.outcome == "fail":
        yield signal(
            digest,
            "failed",
            locus=told.reason,
            magnitude=1,
            detail=_WORDS.get(told.reason, told.reason),
            evidence=told.evidence,
            tokens=digest.cost.tokens,
        )
