"""Edits that were made and taken back: by leaving a branch, by a later edit, or with git."""

from collections.abc import Iterator

from session_memory.learn.digest import Digest
from session_memory.learn.signal import ESTIMATED, Signal, signal

_WORDS = {
    "rewind": "on a branch that was left",
    "edit": "undone by a later edit",
    "git": "taken back with git",
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
            # What git takes back may be more or less than the edits we saw.
            basis=ESTIMATED if undone.kind == "git" else None,
        )
