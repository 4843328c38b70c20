"""Detect abandoned sessions: interrupted or dismissed by the person, or never answered."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, ending_signals

_WORDS = {
    "interrupted": "interrupted, and nothing came after",
    "last_word": "the last prompt gave the task up",
    "no_output": "asked, and never answered",
}


def abandoned(digest: Digest) -> Iterator[Signal]:
    return ending_signals(digest, "abandoned", "abandoned", _WORDS)


DETECTOR = SessionDetector(
    type="abandoned",
    title="Sessions are given up",
    advice="Look at what these sessions were stopped for.",
    find=abandoned,
    about_session=True,
)
