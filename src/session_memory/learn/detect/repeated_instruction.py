"""Detect instructions that a person had to repeat in one session."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest, Statement
from session_memory.learn.digest.similarity import content_words, word_overlap
from session_memory.learn.digest.verdicts import is_instruction
from session_memory.learn.signal import Signal, signal

ALIKE = 0.6
FEWEST_WORDS = 3


def repeated_instruction(digest: Digest) -> Iterator[Signal]:
    if sum(is_instruction(prompt.text) for prompt in digest.prompts) < 2:
        return
    groups: list[tuple[frozenset[str], list[Statement]]] = []
    for prompt in digest.prompts:
        words = content_words(prompt.text)
        if len(words) < FEWEST_WORDS:
            continue
        for known, group in groups:
            if word_overlap(known, words) >= ALIKE:
                group.append(prompt)
                break
        else:
            groups.append((words, [prompt]))
    for words, group in groups:
        # Only instructions count. A task that is given twice is a new try after a failure.
        if sum(is_instruction(prompt.text) for prompt in group) > 1:
            yield signal(
                digest,
                "repeated_instruction",
                locus=" ".join(sorted(words)),
                magnitude=len(group),
                detail=group[0].text,
                evidence=tuple(prompt.event_uid for prompt in group[:5]),
            )


DETECTOR = SessionDetector(
    type="repeated_instruction",
    title="An instruction had to be repeated",
    advice="Put it into the agent's instruction file: {detail}",
    lesson="Do this without being asked, because the user asks for it again and again: {detail}",
    find=repeated_instruction,
)
