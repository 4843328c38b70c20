"""Somebody gave up: interrupted and left, dismissed, or never answered."""

from collections.abc import Iterator

from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, signal

_WORDS = {
    "interrupted": "interrupted, and nothing came after",
    "last_word": "the last word was to leave it",
    "no_output": "asked, and never answered",
}


def abandoned(digest: Digest) -> Iterator[Signal]:
    told = digest.outcome
    if told.outcome == "abandoned":
        yield signal(
            digest,
            "abandoned",
            locus=told.reason,
            magnitude=1,
            detail=_WORDS.get(told.reason, told.reason),
            evidence=told.evidence,
            tokens=digest.cost.tokens,
        )
