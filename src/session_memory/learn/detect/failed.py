"""Detect sessions that failed: they ended with failing tests, an error or a complaint, or the agent
gave up.
"""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, ending_signals

_WORDS = {
    "tests": "the last test run failed",
    "error": "an error ended it",
    "gave_up": "the agent said that it could not do it",
    "last_word": "the last prompt was a complaint",
}


def failed(digest: Digest) -> Iterator[Signal]:
    return ending_signals(digest, "failed", "fail", _WORDS)


DETECTOR = SessionDetector(
    type="failed",
    title="Sessions end without success",
    advice="Look at how these sessions ended before asking for the same again.",
    find=failed,
    about_session=True,
)
