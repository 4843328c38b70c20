"""Detect programs and tools that timed out twice or more in a session, with the same error."""

import re
from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.digest.steps import program_of
from session_memory.learn.signal import Signal, signal

OFTEN = 2
_TIMED_OUT = re.compile(
    r"timed[ -]?out|timeout (?:expired|exceeded|reached)|ETIMEDOUT", re.IGNORECASE
)


def timeout(digest: Digest) -> Iterator[Signal]:
    for error in digest.error_snippets:
        if error.count >= OFTEN and _TIMED_OUT.search(error.sample):
            source = program_of(error.tool, error.call)
            yield signal(
                digest,
                "timeout",
                locus=source,
                magnitude=error.count,
                detail=f"{source} timed out {error.count} times: {error.call}",
                evidence=error.event_uids,
                tokens=error.tokens,
            )


DETECTOR = SessionDetector(
    type="timeout",
    title="Commands time out",
    advice="{locus} took too long: the background, smaller parts or a longer limit may help.",
    lesson="{locus} took too long. Use the background, smaller parts or a longer limit.",
    find=timeout,
    about_tool=True,
)
