"""Detect edits that did not last: on an abandoned branch, or undone by an edit or by git."""

from collections.abc import Iterator

from session_memory.learn.detector import SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.signal import ESTIMATED, Signal, signal

_WORDS = {
    "rewind": "on an abandoned branch",
    "edit": "undone by a later edit",
    "git": "reverted with git",
}


def thrown_away(digest: Digest) -> Iterator[Signal]:
    for undone in digest.undone:
        some = ", ".join(undone.paths[:3])
        edits = "1 edit" if undone.edits == 1 else f"{undone.edits} edits"
        yield signal(
            digest,
            "thrown_away",
            locus=undone.kind,
            magnitude=undone.edits,
            detail=f"{edits} {_WORDS.get(undone.kind, '')}: {some}",
            evidence=undone.event_uids,
            tokens=undone.tokens,
            # git may revert more or less than the edits that the session shows.
            basis=ESTIMATED if undone.kind == "git" else None,
        )


DETECTOR = SessionDetector(
    type="thrown_away",
    title="Work is thrown away",
    advice="Agree on the plan before edits begin; smaller steps lose less.",
    find=thrown_away,
    about_session=True,
)
