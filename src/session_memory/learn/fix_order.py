"""Rate the fixes of an error: a fix that worked in many sessions comes before others.

A fix that worked once may have been luck, or a detour. A fix that worked in ten sessions will
probably help the next session, too. `way_of` recognizes fixes that do the same.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from session_memory.learn.digest import Resolution
from session_memory.learn.digest.command_parts import check_identity, parts_of


class Rated(NamedTuple):
    """How one session resolved the error."""

    session_uid: str
    how: Resolution


def way_of(how: Resolution) -> Hashable:
    """Return a key that is equal for resolutions that do the same.

    ``bun run lint:fix`` and ``cd web && bun run lint:fix 2>&1 | tail -5`` have one key, and so have
    two edits of the same files.
    """
    if how.kind == "edit":
        return frozenset(_files(how))
    return tuple(map(check_identity, parts_of(how.text))) or (how.kind, how.text)


def shares(rated: Sequence[Rated]) -> list[float]:
    """Return for each fix the share of all ``rated`` sessions that used the same fix.

    For an edit of several files, the sessions that edited the most common of these files count.
    """
    sessions: dict[Hashable, set[str]] = {}
    for one in rated:
        for mark in _marks(one.how):
            sessions.setdefault(mark, set()).add(one.session_uid)
    number = len({one.session_uid for one in rated})
    return [max(len(sessions[mark]) for mark in _marks(one.how)) / number for one in rated]


def is_same_call(one: str, other: str) -> bool:
    """Whether two shell texts have a command in common. Each may run other commands, too."""
    first, second = ({check_identity(part) for part in parts_of(call)} for call in (one, other))
    return bool(first & second)


def _marks(how: Resolution) -> Sequence[Hashable]:
    return _files(how) if how.kind == "edit" else [way_of(how)]


def _files(how: Resolution) -> list[str]:
    return [path.strip().replace("\\", "/").rpartition("/")[2] for path in how.text.split(",")]
