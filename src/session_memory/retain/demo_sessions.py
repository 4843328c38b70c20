"""Remove the invented demo sessions from a store of real ones.

An older release collected them into the user's own store if no agent had logs yet.
"""

from importlib.util import find_spec

from session_memory.config import Config
from session_memory.core.errors import StoreBusy
from session_memory.derive.evicted import archive_of
from session_memory.retain import lake
from session_memory.retain.demo_sources import has_demo, is_demo
from session_memory.retain.forget import delete_from_archive, delete_from_store
from session_memory.retain.forget_plan import select
from session_memory.store.store import Store


def remove_demo(store: Store, config: Config, now: int) -> int:
    """Delete the demo sessions from the store, its archive and its lake. Returns their number.

    They get no tombstone, so a store for the demo alone can collect them again. If another command
    has locked the store, nothing is removed; the next call does it.
    """
    if not has_demo(store):
        return 0
    try:
        with store.db.operation_lock(shared=False):
            return _remove(store, config, now)
    except StoreBusy:
        return 0


def _remove(store: Store, config: Config, now: int) -> int:
    sources = {row.id: row for row in store.sources.every() if is_demo(row)}
    readers = {source: store.sessions.of_source(source) for source in sources}
    # A session stays if it has another source, too: then it is the user's own copy of the demo.
    numbers = {
        one
        for found in readers.values()
        for one in found
        if set(store.sessions.source_ids(one)) <= sources.keys()
    }
    uids = sorted(store.sessions.row_by_id(one).uid for one in numbers)
    selection = select(store, uids)
    known = {row.id for row in selection.whole}
    unread = [row for one, row in sources.items() if not readers[one] and one not in known]
    selection.whole += unread
    archive, place = archive_of(store, config), lake.place(store, config)
    if archive is not None:
        delete_from_archive(store, archive, selection, _keep_dictionary, now)
    if find_spec("pyarrow") is not None:
        lake.forget(place, set(uids).__contains__)
    with store.transaction():
        delete_from_store(store, config, selection, _keep_dictionary, now)
    return len(uids)


def _keep_dictionary(body: bytes) -> bool:
    """Return False: nothing in the demo is secret, so dictionaries made from it may stay."""
    return False
