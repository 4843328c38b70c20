"""Which fix of an error comes first: what resolved the same error in most sessions.

A fix that worked once may have been luck, or a detour. The same fix in ten sessions is what the
next session needs, too. Of fixes that come to the same only the first one stays in front.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from session_memory.learn.digest import Resolution
from session_memory.learn.digest.command_parts import check_identity, parts_of


class Rated(NamedTuple):
    """What resolved the error in a session."""

    session_uid: str
    how: Resolution


def way_of(how: Resolution) -> Hashable:
    """What a resolution comes down to: the same for ``bun run lint:fix`` and
    ``cd web && bun run lint:fix 2>&1 | tail -5``, and for two edits of the same files."""
    if how.kind == "edit":
        return frozenset(_files(how))
    return tuple(map(check_identity, parts_of(how.text))) or (how.kind, how.text)


def shares(rated: Sequence[Rated]) -> list[float]:
    """For each fix the share of the sessions that resolved the error in this way.

    An edit counts for the sessions that edited one of its files."""
    sessions: dict[Hashable, set[str]] = {}
    for one in rated:
        for mark in _marks(one.how):
            sessions.setdefault(mark, set()).add(one.session_uid)
    number = len({one.session_uid for one in rated})
    return [max(len(sessions[mark]) for mark in _marks(one.how)) / number for one in rated]


def is_same_call(one: str, other: str) -> bool:
    """Whether two calls run the same command, perhaps with others beside it."""
    first, second = ({check_identity(part) for part in parts_of(call)} for call in (one, other))
    return bool(first & second)


def _marks(how: Resolution) -> Sequence[Hashable]:
    return _files(how) if how.kind == "edit" else [way_of(how)]


def _files(how: Resolution) -> list[str]:
    return [path.strip().replace("\\", "/").rpartition("/")[2] for path in how.text.split(",")]
