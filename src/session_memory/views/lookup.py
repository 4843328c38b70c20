"""Finding the one session somebody means, and naming sessions briefly.

A session answers to its uid, its native id, or a beginning of either that only it has. A
subagent's id is its parent's and its own with a colon between; both parts may be shortened, and
the beginning they share means the parent.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from session_memory.core.errors import AmbiguousSession, UnknownSession
from session_memory.core.text import short_repr
from session_memory.store import Store

SHORTEST = 4
SHORT = 8
# Ids that begin with the time differ late; a UUID is cut at its dashes.
LENGTHS = (SHORT, 13, 18, 23, 28)


def find_session(store: Store, text: str) -> str:
    """The uid of the session that ``text`` names."""
    uids = store.sessions.uids()
    wanted = text.strip()
    exact = [uid for uid in uids if wanted in (uid, _native(uid))]
    if len(exact) == 1:
        return exact[0]
    if len(wanted) < SHORTEST:
        hint = f"Give at least {SHORTEST} characters; session-memory sessions lists them."
        raise AmbiguousSession(f"too short to name a session: {short_repr(text)}", hint)
    found = exact or _root_of([uid for uid in uids if _begins(uid, wanted)])
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownSession(text, near=_near(wanted, uids))
    names = short_names(found)
    some = ", ".join(names[uid] for uid in found[:5]) + (", …" if len(found) > 5 else "")
    message = f"{len(found)} sessions begin with {short_repr(text)}"
    raise AmbiguousSession(message, f"Give more of the one you mean: {some}")


def names_session(store: Store, text: str) -> bool:
    """Whether ``text`` is what somebody would type for a session, or for one of several."""
    try:
        find_session(store, text)
    except UnknownSession:
        return False
    except AmbiguousSession:
        return len(text.strip()) >= SHORTEST
    return True


def short_names(uids: Iterable[str]) -> dict[str, str]:
    """A short name for each uid, which finds it again among them."""
    families: dict[str, dict[str, dict[str, str]]] = {}
    for uid in uids:
        parent, _, own = _native(uid).partition(":")
        alike = families.setdefault(parent[:SHORT], {})
        alike.setdefault(f"{uid.partition(':')[0]}:{parent}", {})[own] = uid
    names: dict[str, str] = {}
    for alike in families.values():
        parents = [parent.partition(":")[2] for parent in alike]
        shared_by = {length: Counter(p[:length] for p in parents) for length in LENGTHS}
        for parent, members in zip(parents, alike.values(), strict=True):
            names.update(_family_names(members, _telling_length(parent, shared_by)))
    shared = Counter(names.values())
    return {uid: name if shared[name] == 1 else uid for uid, name in names.items()}


def _telling_length(parent: str, shared_by: dict[int, Counter[str]]) -> int | None:
    """How much of an id tells it from the others; None when all of it is needed."""
    for length, heads in shared_by.items():
        if length <= len(parent) and heads[parent[:length]] == 1:
            return length
    return None


def _family_names(members: dict[str, str], length: int | None) -> Iterator[tuple[str, str]]:
    """``(uid, name)`` of a session and its subagents, told apart by their neighbours in order."""
    order = sorted(members)
    for place, own in enumerate(order):
        uid = members[own]
        parent = _native(uid).partition(":")[0]
        after = order[place + 1] if place + 1 < len(order) else None
        before = order[place - 1] if place else ""
        if length is None or (own and after is not None and after.startswith(own)):
            yield uid, _native(uid)
            continue
        alone = not before.startswith(own[:SHORT]) and not (after or "").startswith(own[:SHORT])
        short = own[:SHORT] if alone else own
        yield uid, f"{parent[:length]}:{short}" if own else parent[:length]


def _native(uid: str) -> str:
    return uid.partition(":")[2]


def _begins(uid: str, wanted: str) -> bool:
    native = _native(uid)
    if uid.startswith(wanted) or native.startswith(wanted):
        return True
    (parent, colon, own), (its, between, rest) = wanted.partition(":"), native.partition(":")
    return bool(colon and between and parent and its.startswith(parent) and rest.startswith(own))


def _root_of(found: list[str]) -> list[str]:
    """Of a session and its subagents, the session; anything else stays as it is."""
    for uid in found:
        if all(other == uid or other.startswith(f"{uid}:") for other in found):
            return [uid]
    return found


def _near(wanted: str, uids: list[str]) -> list[str]:
    """The sessions whose ids are most like what was asked for, by their short names."""
    flavors = {uid.partition(":")[0] for uid in uids}
    flavor, _, rest = wanted.partition(":")
    wanted = rest if flavor in flavors else wanted
    heads: dict[str, str] = {}
    for uid in uids:
        heads.setdefault(_native(uid)[: len(wanted)], uid)
    close = dict.fromkeys(heads[head] for head in get_close_matches(wanted, heads, n=3))
    names = short_names(uids)
    return [names[uid] for uid in close]
