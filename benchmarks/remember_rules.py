"""When an earlier answer would have been useful, and what chance alone would give.

Both rules are strict, because with a loose one an arbitrary answer looks as good as a right one.
"""

import re
from collections.abc import Collection, Sequence
from math import comb

from session_memory.learn.digest import Digest, Resolution

CHANGES = ("edit", "command", "instead")
FIRST = (1, 3, 5)
_BETWEEN = re.compile(r"&&|\|\||;|\||\n")
_NO_WORD = re.compile(r"-|\d?>|[A-Z_]+=")
# Programs that show or move to something resolve nothing.
_LOOKING = frozenset({"cd", "echo", "head", "tail", "grep", "cat", "ls", "sleep"})


def file_name(path: str) -> str:
    return path.strip().replace("\\", "/").rpartition("/")[2]


def marks_of(how: Resolution | None) -> frozenset[str]:
    """What a resolution comes down to: the names of the edited files; or for each part of the
    command its program and the next two words."""
    if how is None or how.kind not in CHANGES:
        return frozenset()
    if how.kind == "edit":
        return frozenset(
            f"file {name}" for path in how.text.split(",") if (name := file_name(path))
        )
    found = set()
    for part in _BETWEEN.split(how.text):
        words = [word for word in part.split() if not _NO_WORD.match(word)]
        if words and words[0] not in _LOOKING:
            found.add("call " + " ".join(words[:3]))
    return frozenset(found)


def first_useful(true: Resolution | None, offered: Sequence[Resolution | None]) -> int | None:
    """The place, from 0, of the first offer that shares a mark with what truly resolved it."""
    wanted = marks_of(true)
    return next((at for at, one in enumerate(offered) if wanted & marks_of(one)), None)


def chance(useful: int, of: int, drawn: int) -> float:
    """The probability that at least one of ``drawn`` arbitrary ones is useful."""
    drawn = min(drawn, of)
    return 1 - comb(of - useful, drawn) / comb(of, drawn) if of else 0.0


def expected_reciprocal(useful: int, of: int) -> float:
    """The mean of 1 / place of the first useful one if the order is arbitrary."""
    found, none_yet = 0.0, 1.0
    for place in range(1, of - useful + 2):
        hit = useful / (of - place + 1)
        found += none_yet * hit / place
        none_yet *= 1 - hit
    return found


def edited(digest: Digest) -> frozenset[str]:
    """The names of the files that a session edited."""
    return frozenset(file_name(file.path) for file in digest.files if file.edits)


def same_work(own: Collection[str], other: Collection[str]) -> bool:
    """Whether a session edited enough of the same files: a third of them, at least 1, at most 3."""
    needed = max(1, min(3, len(own) // 3))
    return len(set(own) & set(other)) >= needed
