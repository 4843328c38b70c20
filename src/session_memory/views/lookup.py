"""Find the one session that somebody means by an id, the beginning of an id, a title, or a name.

The id of a subagent is ``<parent's id>:<own id>``. Both parts may be shortened. A beginning that
fits only a session and its subagents means the session. A lookup takes no longer in a large store,
except for titles with letters beyond ASCII, which have no index.
"""

from difflib import get_close_matches

from session_memory.core.errors import AmbiguousSession, UnknownSession
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, short_repr
from session_memory.derive.live_sources import LIVE
from session_memory.store import Store
from session_memory.store.live_imports import LiveImports
from session_memory.store.retention_forget import is_live
from session_memory.store.session_ids import AFTER_COLON, FIRST, LAST, SessionIds
from session_memory.store.session_pages import SessionPages
from session_memory.views.short_names import short_names

SHORTEST = 4
MOST_NAMED = 5
MOST_COMPARED = 200
ELLIPSIS = "…"


def find_session(store: Store, text: str) -> str:
    """Return the uid of the session whose id or title is ``text`` or begins with it.

    Raises `UnknownSession` if there is none, and `AmbiguousSession` if there are several.
    """
    lookup = _Lookup(store, text)
    found = lookup.by_id() or lookup.by_title()
    if found is None:
        raise UnknownSession(text, near=lookup.near())
    return found


def find_stored(store: Store, text: str) -> str:
    """Like `find_session`; ``text`` may also be the uid of a live session that is not synced."""
    flavor, _, native = text.strip().partition(":")
    if flavor == LIVE and is_live(store.db, native):
        imported = LiveImports(store.db).of_name(native)
        uid = text.strip() if imported is None else imported.origin
        if store.sessions.row(uid) is None:
            return text.strip()
    return find_session(store, text)


def names_session(store: Store, text: str) -> bool:
    """Whether ``text`` is the id of a session, or the beginning of some id."""
    try:
        return _Lookup(store, text).by_id() is not None
    except AmbiguousSession:
        return len(text.strip()) >= SHORTEST


def suggest_sessions(store: Store, text: str, most: int) -> list[tuple[str, str]]:
    """Return ``(short name, title)`` of sessions whose name begins with ``text``, newest first."""
    found = SessionPages(store.db).beginning(_Lookup(store, text).ranges, most)
    names = short_names(store, (session.session_uid for session in found))
    named = ((names[session.session_uid], session.title or "") for session in found)
    return [(name, title) for name, title in named if name.startswith(text)]


class _Lookup:
    def __init__(self, store: Store, text: str) -> None:
        self._store = store
        self._given = text
        self._text = escaped(text.strip())
        self.ids = SessionIds(store.db)
        self._flavors = self.ids.flavors()
        self._starts = [self._text, *(f"{flavor}:{self._text}" for flavor in self._flavors)]

    @property
    def ranges(self) -> list[tuple[str, str]]:
        """The ranges of the uids that begin with the text, with or without their flavor."""
        return [(start, start + LAST) for start in self._starts]

    def _known(self) -> list[str]:
        """Return the sessions with exactly this uid or native id.

        A live session that was imported from another session means that session.
        """
        found = self.ids.known(self._exact())
        flavor, _, name = self._text.partition(":")
        imported = None
        if not found and flavor == LIVE:
            imported = LiveImports(self._store.db).of_name(name)
        return found if imported is None else self.ids.known([imported.origin])

    def by_title(self) -> str | None:
        found = self.ids.titled(self._text, MOST_NAMED + 1)
        if len(found) > 1:
            raise self._ambiguous("several sessions have a title that begins with", found)
        return found[0] if found else None

    def by_id(self) -> str | None:
        head, ellipsis, tail = self._text.partition(ELLIPSIS)
        exact = self._around_ellipsis(head, tail) if ellipsis else self._known()
        if len(exact) == 1:
            return exact[0]
        if len(self._text) < SHORTEST:
            hint = (
                f"Give at least {SHORTEST} characters of an id. List ids: session-memory sessions"
            )
            raise AmbiguousSession(f"too short to name a session: {short_repr(self._given)}", hint)
        found = exact or self._beginning()
        if len(found) > 1:
            number = len(exact) or max(self._count(), len(found))
            raise self._ambiguous(f"{number:,} sessions begin with", found)
        return found[0] if found else None

    def _exact(self) -> list[str]:
        """Return the uids that the text can be, with any flavor.

        The store has a substitute for a native id that is not valid in a uid.
        """
        flavor, _, native = self._text.partition(":")
        whole, is_unfit = fit_native_id(self._text)
        substitutes = [f"{one}:{whole}" for one in self._flavors] if is_unfit else []
        if flavor in self._flavors:
            substitutes.append(f"{flavor}:{fit_native_id(native)[0]}")
        return list(dict.fromkeys((*self._starts, *substitutes)))

    def _around_ellipsis(self, head: str, tail: str) -> list[str]:
        """Return the uids that begin with ``head`` and end with ``tail``: a narrow table shows an
        id without its middle."""
        found = (
            uid for flavor in self._flavors for uid in self.ids.split(f"{flavor}:{head}", tail)
        )
        return _root_of(list(found)) if len(head) >= SHORTEST else []

    def _beginning(self) -> list[str]:
        """Return the sessions whose uid begins with the text, without their subagents. Of many
        sessions only some are returned: enough to show that the text is ambiguous."""
        found = dict[str, None]()
        for low, high in self.ranges:
            if first := self.ids.within(low, high, 1):
                found |= dict.fromkeys(first + self._others(first[0], high))
        parent, colon, own = self._text.partition(":")
        if colon and parent:
            for flavor in self._flavors:
                alike = self.ids.beginning(f"{flavor}:{parent}", own)
                found |= dict.fromkeys(uid for uid in alike if _has_parts(uid, parent, own))
        return _root_of(list(found))

    def _others(self, root: str, high: str) -> list[str]:
        """Some other uids from ``root`` to ``high``: neither ``root`` nor one of its subagents."""
        between = self.ids.within(f"{root}{FIRST}", f"{root}:", MOST_NAMED)
        return between + self.ids.within(f"{root}{AFTER_COLON}", high, MOST_NAMED)

    def _count(self) -> int:
        return sum(self.ids.count_within(low, high) for low, high in self.ranges)

    def _ambiguous(self, problem: str, found: list[str]) -> AmbiguousSession:
        names = short_names(self._store, found[:MOST_NAMED])
        more = ", …" if len(found) > MOST_NAMED else ""
        some = ", ".join(names[uid] for uid in found[:MOST_NAMED]) + more
        return AmbiguousSession(
            f"{problem} {short_repr(self._given)}", f"Give more of the one you mean: {some}"
        )

    def near(self) -> list[str]:
        """Short names of up to three sessions whose ids are similar to the given text.

        Only ids that are close to the text in sort order are compared.
        """
        text = self._text
        flavor, _, rest = text.partition(":")
        text = rest if flavor in self._flavors else text
        heads: dict[str, str] = {}
        for one in self._flavors:
            for uid in self.ids.around(f"{one}:{text}", MOST_COMPARED):
                heads.setdefault(uid.partition(":")[2][: len(text)], uid)
        close = list(dict.fromkeys(heads[head] for head in get_close_matches(text, heads, n=3)))
        names = short_names(self._store, close)
        return [names[uid] for uid in close]


def _has_parts(uid: str, parent: str, own: str) -> bool:
    native = uid.partition(":")[2]
    its, between, rest = native.partition(":")
    return bool(between) and its.startswith(parent) and rest.startswith(own)


def _root_of(found: list[str]) -> list[str]:
    """If the list is one session and its subagents, only the session; else the same list."""
    for uid in found:
        if all(other == uid or other.startswith(f"{uid}:") for other in found):
            return [uid]
    return found
