"""Detect files that were read again several times although they did not change."""

from collections.abc import Iterator

from session_memory.learn.detect.oversized_output import CHARACTERS_IN_A_TOKEN
from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import ESTIMATED, Signal, signal

OFTEN = 3


def reread_file(digest: Digest) -> Iterator[Signal]:
    for file in digest.files:
        if file.rereads >= OFTEN:
            yield signal(
                digest,
                "reread_file",
                locus=file.path,
                magnitude=file.rereads,
                detail=f"{file.path} read {file.reads} times, {file.rereads} of them unchanged",
                evidence=file.event_uids,
                tokens=file.reread_bytes // CHARACTERS_IN_A_TOKEN,
                basis=ESTIMATED,
            )


DETECTOR = SessionDetector(
    type="reread_file",
    title="A file is read again and again",
    advice="Tell the agent what {locus} holds, or split it.",
    find=reread_file,
    about_session=True,
)
