"""Find the event of a session that somebody names by its number or its id."""

from session_memory.core.errors import UnknownEvent, UnknownSession
from session_memory.core.text import short_repr
from session_memory.derive.archived import readable_store
from session_memory.store import Store
from session_memory.store.record_keys import place_key, record_key

SHORTEST = 4
# A number with more digits is no ``seq`` of any event, and databases refuse it.
MOST_DIGITS = 18


def find_event(store: Store, uid: str, text: str) -> int:
    """Return the ``seq`` of the event whose number is ``text``, or whose id begins with it.

    Events that a fork inherited are found too, by the number they have in the fork. A beginning of
    an id needs four characters. Raises `UnknownEvent` if no event or several records match.
    """
    store = readable_store(store, uid)
    row = store.sessions.row(uid)
    if row is None:
        raise UnknownSession(uid)
    if text.isdecimal():
        last = store.events.last_seq(row.id)
        if len(text) > MOST_DIGITS or int(text) > last:
            asked = f"{int(text):,}" if len(text) <= MOST_DIGITS else short_repr(text)
            raise UnknownEvent(f"{uid} has no event {asked}; its last one is {last:,}", uid)
        return int(text)
    if (place := _place_of(store, row.id, text)) is not None:
        return place
    own = ((event_uid, seq) for seq, _, _, event_uid, _ in store.events.chain(row.id))
    known = dict(own)
    for seq, event in store.events.inherited(row.id):
        known.setdefault(event.event_uid or "", seq)
    if text in known:
        return known[text]
    alike = [name for name in known if len(text) >= SHORTEST and name.startswith(text)]
    # A record has an event for each of its blocks. An id without a block means the first event.
    records = {name.rpartition(":")[0] for name in alike}
    if len(records) > 1:
        begin = f"{len(records):,} events of {uid} begin with {short_repr(text)}"
        raise UnknownEvent(begin, uid)
    if not alike:
        raise UnknownEvent(f"{uid} has no event {short_repr(text)}", uid)
    return min(known[name] for name in alike)


def _place_of(store: Store, session_id: int, text: str) -> int | None:
    """Return the seq of the event with exactly this id, by an index; None if there is none."""
    native, _, block = text.rpartition(":")
    if not native or not block.isdecimal() or len(block) > MOST_DIGITS:
        return None
    keys = (record_key(native), place_key(native))
    found = (store.events.place_of(session_id, key, int(block)) for key in keys)
    return next((seq for seq in found if seq is not None), None)
