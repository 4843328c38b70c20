"""Detect sessions with evidence of success and without any error, retry or correction."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import SUCCESS, Signal, signal


def clean_pass(digest: Digest) -> Iterator[Signal]:
    marks = digest.markers
    if digest.outcome.is_proved_success and not (marks.error or marks.retry or marks.human):
        yield signal(
            digest,
            "clean_pass",
            polarity=SUCCESS,
            locus=digest.repo or "",
            magnitude=1,
            detail=f"no error, no retry, no correction; proved by {digest.outcome.reason}",
            evidence=digest.outcome.evidence,
            tokens=digest.cost.tokens,
        )


DETECTOR = SessionDetector(
    type="clean_pass",
    title="Done at the first try",
    find=clean_pass,
)
