"""Detect calls that failed several times in a row, and a model that could not be reached."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.digest.fingerprints import normalized
from session_memory.learn.signal import Signal, signal


def retry_storm(digest: Digest) -> Iterator[Signal]:
    for repeat in digest.repeats:
        yield signal(
            digest,
            "retry_storm",
            locus=f"{repeat.tool or 'model'}: {normalized(repeat.call)}",
            magnitude=repeat.failures,
            detail=f"{repeat.call or 'the model'} failed {repeat.failures} times in a row",
            evidence=repeat.event_uids,
            tokens=repeat.tokens,
        )


DETECTOR = SessionDetector(
    type="retry_storm",
    title="The same call fails over and over",
    advice="After the second failure of {locus}, change something before trying again.",
    find=retry_storm,
    about_tool=True,
)
