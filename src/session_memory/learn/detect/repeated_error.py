"""Detect errors that occurred three times or more in one session."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, signal

OFTEN = 3


def repeated_error(digest: Digest) -> Iterator[Signal]:
    for error in digest.error_snippets:
        if error.count >= OFTEN:
            yield signal(
                digest,
                "repeated_error",
                locus=error.fingerprint,
                magnitude=error.count,
                detail=error.sample,
                evidence=error.event_uids,
                tokens=error.tokens,
            )


DETECTOR = SessionDetector(
    type="repeated_error",
    title="The same error again and again in one session",
    advice="Write down how to avoid: {detail}",
    find=repeated_error,
)
