"""Something the user had to say more than once in a session."""

from collections.abc import Iterator

from session_memory.learn.digest import Digest, Said
from session_memory.learn.signal import Signal, signal
from session_memory.learn.words import is_directive, likeness, telling_words

ALIKE = 0.6
FEWEST_WORDS = 3


def repeated_instruction(digest: Digest) -> Iterator[Signal]:
    groups: list[tuple[frozenset[str], list[Said]]] = []
    for said in digest.prompts:
        words = telling_words(said.text)
        if len(words) < FEWEST_WORDS:
            continue
        for known, group in groups:
            if likeness(known, words) >= ALIKE:
                group.append(said)
                break
        else:
            groups.append((words, [said]))
    for words, group in groups:
        # A task that is sent again after a failure is a retry; how to work is an instruction.
        if sum(is_directive(said.text) for said in group) > 1:
            yield signal(
                digest,
                "repeated_instruction",
                locus=" ".join(sorted(words)),
                magnitude=len(group),
                detail=group[0].text,
                evidence=tuple(said.event_uid for said in group[:5]),
            )
