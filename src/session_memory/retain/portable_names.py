"""Export and import the names that people gave to sessions, in a portable file.

A file may come from anybody. So an import names only sessions that came from such a file, and never
one that has a name here already.
"""

from collections.abc import Mapping

from session_memory.core.time import now_ms
from session_memory.redact.masking import mask
from session_memory.store.given_names import is_name
from session_memory.store.store import Store


def exported_names(store: Store, uids: list[str] | None, *, redacted: bool) -> dict[str, str]:
    """Return the names that people gave to these sessions, or to all: uid → name."""
    given = store.given_names
    names = given.every() if uids is None else given.of(uids)
    return {uid: mask(name) for uid, name in names.items()} if redacted else names


def import_names(store: Store, names: Mapping[str, str], before: frozenset[str]) -> None:
    """Name the imported sessions. ``before`` are the sessions that the store had already.

    A text that nobody could have given as a name is left out.
    """
    now = now_ms()
    with store.transaction():
        here = store.given_names.of(names)
        for uid in store.sessions.uids():
            name = names.get(uid, "").strip()
            if not name or not is_name(name) or uid in here:
                continue
            if uid not in before or _came_from_a_file(store, uid):
                store.given_names.set(uid, name, now)


def _came_from_a_file(store: Store, uid: str) -> bool:
    row = store.sessions.row(uid)
    ids = [] if row is None else store.sessions.source_ids(row.id)
    return bool(ids) and all(store.sources.get(one).is_imported for one in ids)
