"""Detect errors that a successful session resolved. The resolution may help other sessions."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import SUCCESS, Signal, signal

_HOW = {
    "edit": "by editing {}",
    "command": "by running {}",
    "look": "after looking at {}",
    "instead": "with {} instead",
    "again": "by trying again",
}


def recovery(digest: Digest) -> Iterator[Signal]:
    if not digest.outcome.is_proved_success:
        return
    for error in digest.error_snippets:
        how = error.resolution
        if how is not None:
            words = _HOW.get(how.kind, "{}").format(how.text)
            words = f"perhaps {words}" if how.is_guess else words
            yield signal(
                digest,
                "recovery",
                polarity=SUCCESS,
                locus=error.fingerprint,
                magnitude=error.count,
                detail=f"{error.sample} – overcome {words}",
                evidence=(*error.event_uids[:1], *how.event_uids[:3], how.succeeded),
                tokens=error.tokens,
            )


DETECTOR = SessionDetector(
    type="recovery",
    title="An error that was overcome",
    find=recovery,
)
