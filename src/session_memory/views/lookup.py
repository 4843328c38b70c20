"""Finding the one session somebody means, and naming sessions briefly.

A session answers to its uid, its native id, or a beginning of either that only it has. A
subagent's id is its parent's and its own with a colon between; both parts may be shortened, and
the beginning they share means the parent.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from session_memory.core.errors import StoreError, UnknownSession, shown
from session_memory.store import Store

SHORTEST = 4
SHORT = 8


def find_session(store: Store, text: str) -> str:
    """The uid of the session that ``text`` names."""
    uids = store.sessions.uids()
    wanted = text.strip()
    exact = [uid for uid in uids if wanted in (uid, _native(uid))]
    if len(exact) == 1:
        return exact[0]
    if len(wanted) < SHORTEST:
        hint = f"Give at least {SHORTEST} characters; session-memory sessions lists them."
        raise StoreError(f"too short to name a session: {shown(text)}", hint)
    found = exact or _root_of([uid for uid in uids if _begins(uid, wanted)])
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownSession(text, near=_near(wanted, uids))
    names = short_names(found)
    some = ", ".join(names[uid] for uid in found[:5]) + (", …" if len(found) > 5 else "")
    message = f"{len(found)} sessions begin with {shown(text)}"
    raise StoreError(message, f"Give more of the one you mean: {some}")


def short_names(uids: Iterable[str]) -> dict[str, str]:
    """A short name for each uid, which finds it again among them."""
    names: dict[str, str] = {}
    waiting = list(uids)
    for length in (SHORT, 12, 18, 24):
        taken: dict[str, list[str]] = {}
        for uid in waiting:
            taken.setdefault(_shortened(uid, length), []).append(uid)
        names.update({name: same[0] for name, same in taken.items() if len(same) == 1})
        waiting = [uid for same in taken.values() if len(same) > 1 for uid in same]
    by_uid = {uid: name for name, uid in names.items()}
    return by_uid | {uid: uid for uid in waiting}


def _native(uid: str) -> str:
    return uid.partition(":")[2]


def _shortened(uid: str, length: int) -> str:
    parent, colon, own = _native(uid).partition(":")
    return f"{parent[:length]}{colon}{own[:length]}"


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
