"""Detect sessions whose context was compacted twice or more: the task was too large for it."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import Signal, signal

OFTEN = 2


def context_overflow(digest: Digest) -> Iterator[Signal]:
    context = digest.context
    if context.compactions >= OFTEN:
        yield signal(
            digest,
            "context_overflow",
            locus=digest.repo or "",
            magnitude=context.compactions,
            detail=f"compacted {context.compactions} times, up to {context.peak:,} tokens sent",
        )


DETECTOR = SessionDetector(
    type="context_overflow",
    title="The context runs full",
    advice="Split such tasks into sessions of their own, or use subagents.",
    find=context_overflow,
)
