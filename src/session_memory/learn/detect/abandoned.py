"""The person interrupted or dismissed the session, or the agent never answered."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, signal

_WORDS = {
    "interrupted": "interrupted, and nothing came after",
    "last_word": "the last prompt gave the task up",
    "no_output": "asked, and never answered",
}


def abandoned(digest: Digest) -> Iterator[Signal]:
    outcome = digest.outcome
    if outcome.outcome == "abandoned":
        yield signal(
            digest,
            "abandoned",
            locus=outcome.reason,
            magnitude=1,
            detail=_WORDS.get(outcome.reason, outcome.reason),
            evidence=outcome.evidence,
            tokens=digest.cost.tokens,
        )


DETECTOR = SessionDetector(
    type="abandoned",
    title="Sessions are given up",
    advice="Look at what these sessions were stopped for.",
    find=abandoned,
)
