"""Short names for sessions: enough of each id to find the session again in the whole store.

In sorted order, no id shares more of its beginning with another than with its two neighbours. So
the neighbours decide how much of an id is needed, and nothing else is read.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from session_memory.core.short_ids import SHORTEST, short_lengths
from session_memory.store import Store
from session_memory.store.session_ids import AFTER_COLON, FIRST, SessionIds

SHORT = SHORTEST


def short_names(store: Store, uids: Iterable[str]) -> dict[str, str]:
    """Return a short name for each of ``uids`` by which the session can be found again.

    The name of a session that is not in the store is its uid.
    """
    names = SessionNames(store, uids)
    return dict(names.known)


class SessionNames:
    """Short names of sessions. Those of ``uids`` are looked up at once. Call the object with any
    uid to get its short name."""

    def __init__(self, store: Store, uids: Iterable[str] = ()) -> None:
        self._ids = SessionIds(store.db)
        self.known: dict[str, str] = {}
        self._learn(list(dict.fromkeys(uids)))

    def __call__(self, uid: str) -> str:
        if uid not in self.known:
            self._learn([uid])
        return self.known[uid]

    @cached_property
    def _flavors(self) -> list[str]:
        return self._ids.flavors()

    def _learn(self, uids: list[str]) -> None:
        if not uids:
            return
        self.known |= {uid: uid for uid in uids}
        parts = {uid: _Parts.of(uid) for uid in self._ids.known(uids)}
        parents = sorted({(one.flavor, one.parent) for one in parts.values()})
        lengths = _lengths(self._ids, parents, self._flavors)
        owns = _own_parts(self._ids, [one for one in parts.values() if one.own])
        whole = []
        for uid, one in parts.items():
            length, own = lengths[one.flavor, one.parent], owns.get(one, "")
            if length is None or own is None:
                whole.append(one)
                self.known[uid] = one.native
            else:
                self.known[uid] = f"{one.parent[:length]}{':' if own else ''}{own}"
        for uid in _in_several_flavors(self._ids, whole, self._flavors):
            if uid in parts:
                self.known[uid] = uid


class _Parts(NamedTuple):
    """The parts of a uid. ``own`` is the subagent's part; it is empty for other sessions."""

    flavor: str
    parent: str
    own: str

    @classmethod
    def of(cls, uid: str) -> "_Parts":
        flavor, _, native = uid.partition(":")
        parent, _, own = native.partition(":")
        return cls(flavor, parent, own)

    @property
    def native(self) -> str:
        return f"{self.parent}:{self.own}" if self.own else self.parent


def _lengths(
    ids: SessionIds, parents: list[tuple[str, str]], flavors: list[str]
) -> dict[tuple[str, str], int | None]:
    """Return how many characters of each session's id are enough to find it; None if all of them
    are needed. They are enough if no other id begins with them.

    ``parents`` are the flavor and id of sessions without the part of a subagent.
    """
    probes, asked = [], []
    for key in parents:
        flavor, parent = key
        for other in flavors:
            place, least, most = f"{other}:{parent}", f"{other}:", f"{other}{AFTER_COLON}"
            if other == flavor:
                # The two ranges leave out its own subagents, which sort between them.
                probes += [(least, place, f"{place}{FIRST}", f"{place}:")]
                probes += [(least, least, f"{place}{AFTER_COLON}", most)]
                asked += [key, key]
            else:
                probes += [(least, place, place, most)]
                asked += [key]
    shared = dict.fromkeys(parents, 0)
    for key, found in zip(asked, ids.neighbours(probes), strict=True):
        for neighbour in filter(None, found):
            other = _Parts.of(neighbour).parent
            shared[key] = max(shared[key], _common(key[1], other))
    return {key: _enough(key[1], shared[key]) for key in parents}


def _enough(parent: str, shared: int) -> int | None:
    """Return the first usual length that is longer than what a neighbour shares, or None."""
    return next((one for one in short_lengths(parent) if shared < one <= len(parent)), None)


def _own_parts(ids: SessionIds, subagents: list[_Parts]) -> dict[_Parts, str | None]:
    """Return the beginning of each subagent's own part that no sibling has. It is None if the own
    part of a sibling starts with the whole of it."""
    probes = []
    for one in subagents:
        family, uid = f"{one.flavor}:{one.parent}:", f"{one.flavor}:{one.native}"
        probes.append((family, uid, f"{uid}{FIRST}", f"{family[:-1]}{AFTER_COLON}"))
    found: dict[_Parts, str | None] = {}
    for one, (before, after) in zip(subagents, ids.neighbours(probes), strict=True):
        siblings = [_Parts.of(uid).own for uid in (before, after) if uid]
        if after and _Parts.of(after).own.startswith(one.own):
            found[one] = None
        else:
            alone = not any(own.startswith(one.own[:SHORT]) for own in siblings)
            found[one] = one.own[:SHORT] if alone else one.own
    return found


def _in_several_flavors(ids: SessionIds, some: list[_Parts], flavors: list[str]) -> list[str]:
    """Return the uids of sessions whose native id a session of another flavor has too."""
    if not some:
        return []
    known = ids.known(f"{flavor}:{one.native}" for one in some for flavor in flavors)
    natives = Counter(uid.partition(":")[2] for uid in known)
    return [uid for uid in known if natives[uid.partition(":")[2]] > 1]


def _common(one: str, other: str) -> int:
    """Count the characters that both texts begin with."""
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length
