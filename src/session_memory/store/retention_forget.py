"""Delete sessions from every table, including names and dictionaries that came from them.

A table is cleared by its columns ``session_id``, ``session_uid`` and ``source_id``. So a new table
with one of these columns needs no change here.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

from session_memory.core.ids import split_uid
from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.schema import KINDS, ROLES
from session_memory.store.database import Database
from session_memory.store.index import event_of
from session_memory.store.kept_answers import KeptAnswers, note_digests
from session_memory.store.migrations import all_steps, all_tables
from session_memory.store.raw import compressor, packed
from session_memory.store.recall import Recall
from session_memory.store.row_values import containing
from session_memory.store.store import Store
from session_memory.store.word_query import QueryWord, WordQuery

# Tables that other tables refer to. They are deleted last.
_LAST = ("live_lanes", "live_sessions", "sources", "sessions")
_COLUMNS = {
    "session_id": "sessions",
    "other_id": "sessions",
    "source_id": "sources",
    "session_uid": "uids",
}
_ALSO = {"links": {"parent_id": "sessions"}}
_UNOWN = "update usage set owner_id = null where owner_id = :key"
_NAMED_BY = {
    "events": ("kind", "marks", "role", "tool", "native_kind", "model"),
    "usage": ("model", "speed", "service_tier"),
}
# Other processes may have cached the number of a name. So the name is erased, but its number is
# never used again.
_ALL_NAMES = "select id, name from names"
_ERASE_NAME = "update names set name = :name where id = :id"
_PACKS_WITH = "select source_id, start from packs where dictionary_id = :id"
_REPACK = """
    update packs set hash = :hash, dictionary_id = null, body = :body
    where source_id = :source and start = :start
"""
_DROP_DICTIONARY = "delete from dictionaries where id = :id"
_NEWEST_DICTIONARY = "select max(id) from dictionaries"
_LIVE_KEY = "select id from live_sessions where session_id = :native"
_LIVE_LANES = "select id from live_lanes where session_key = :key"
_LIVE_HOLDERS = """
    select distinct s.session_id from live_lanes l join live_sessions s on s.id = l.session_key
    where l.base_lane in (select id from live_lanes where session_key = :key)
        and l.session_key <> :key
    union
    select distinct s.session_id from live_folds f join live_sessions s on s.id = f.session_key
    where f.note_lane in (select id from live_lanes where session_key = :key)
        and f.session_key <> :key
"""
_LIVE_TEXTS = """
    select m.content from live_messages m join live_lanes l on l.id = m.lane_id
    join live_sessions s on s.id = l.session_key
    where s.session_id = :native and m.content is not null order by m.lane_id, m.seq
"""
_LIVE_BODIES = """
    select distinct body from live_messages where lane_id = :lane and body is not null
"""
_LOCK_BODY = "update live_bodies set length = length where hash = :hash"
_BODIES_IN_USE = "select distinct body from live_messages where body is not null"
# The uids of a session's subagents: those that its log names, those that begin with its own uid,
# and those whose files lie below its file.
_CHILDREN_BY_NAME = """
    select l.child_uid from links l join sessions s on s.id = l.parent_id where s.uid = :uid
    union
    select uid from sessions where uid > :first and uid < :last
    union
    select parent_uid from sessions where parent_uid > :first and parent_uid < :last
    union
    select c.uid from sources o join session_sources x on x.source_id = o.id
    join sessions c on c.id = x.session_id
    where o.session = :native and o.flavor = :flavor and o.agent <> ''
"""
_MADE = lazy_pattern(r"^create table (\w+) \((.*?)\)\{strict\}", re.MULTILINE | re.DOTALL)
_ADDED = lazy_pattern(r"^alter table (\w+) add column (\w+) \{text\}", re.MULTILINE)
_EVENTS_KNOWN = "select id from events where id in ({keys})"
_SESSIONS_KNOWN = "select id from sessions where id in ({keys})"
MOST_DOCS = 1000
_OF_SCHEMA = {*KINDS, *ROLES, ""}
_OF_LIVE = ("live_imports", "live_usage", "live_moves", "live_folds", "live_keys", "live_settings")


def delete_sessions(store: Store, sessions: dict[int, str], sources: Collection[int]) -> None:
    """Delete all rows of sessions (id → uid) and of sources that only they use."""
    db = store.db
    # Kept figures name repositories, and the sums of a day may tell what one session used.
    store.figures.discard()
    KeptAnswers(db).discard()
    note_digests(db)
    names = _names_of(db, sessions)
    if any(store.sessions.is_evicted(uid) for uid in sessions.values()):
        # The events of an evicted session are gone, so it is unknown which names it used.
        names |= {number for number, name in db.all(_ALL_NAMES) if not _is_of_schema(name)}
    for session in sessions:
        store.events.drop(session)
        store.index.set_title(session, None)
        Recall(db).forget(sessions[session])
        db.execute(_UNOWN, {"key": session})
    keys = {"sessions": sessions, "sources": sources, "uids": sessions.values()}
    for table in reversed([name for name in all_tables() if name not in _LAST]):
        has = db.columns(table)
        kinds = {**_COLUMNS, **_ALSO.get(table, {})}
        for column in [name for name in kinds if name in has and not table.startswith("live_")]:
            delete(db, table, column, list(keys[kinds[column]]))
    delete(db, "sources", "id", list(sources))
    delete(db, "sessions", "id", list(sessions))
    _erase_names(db, names)
    store.names.forget()


def children_by_name(db: Database, uid: str) -> list[str]:
    """The uids of a session's subagents, found by names in the store.

    Subagents that were never collected may be among them.
    """
    flavor, native = split_uid(uid)
    # All uids that begin with "<uid>:", because ";" is the character after ":".
    names = {"uid": uid, "native": native, "flavor": flavor}
    rows = db.all(_CHILDREN_BY_NAME, {**names, "first": f"{uid}:", "last": f"{uid};"})
    return sorted({row[0] for row in rows} - {uid})


def delete(db: Database, table: str, column: str, keys: Sequence[Any]) -> None:
    for key in keys:
        db.execute(f"delete from {table} where {column} = :key", {"key": key})


def _names_of(db: Database, sessions: Collection[int]) -> set[int]:
    """The numbers of the names that these sessions use."""
    return {
        number
        for table, columns in _NAMED_BY.items()
        for column in columns
        for session in sessions
        for (number,) in db.all(
            f"select distinct {column} from {table} where session_id = :key", {"key": session}
        )
        if number is not None
    }


def _is_of_schema(name: str) -> bool:
    """Whether a name is a kind, a list of marks or a role. Those are never erased."""
    return all(part in _OF_SCHEMA for part in name.split(","))


def _erase_names(db: Database, names: Collection[int]) -> None:
    """Erase the names that no remaining row uses."""
    for table, columns in _NAMED_BY.items():
        for column in columns:
            if not names:
                return
            used = f"select distinct {column} from {table} where {column} in ({{keys}})"
            names = set(names) - {row[0] for row in db.matching(used, sorted(names))}
    for number in names:
        db.execute(_ERASE_NAME, {"id": number, "name": f"~{number}"})


# ---------------------------------------------------------------- live sessions


def live_holders(db: Database, native: str) -> list[str]:
    """Live sessions that continue the messages of this one."""
    key = db.value(_LIVE_KEY, {"native": native})
    return [] if key is None else [row[0] for row in db.all(_LIVE_HOLDERS, {"key": key})]


def is_live(db: Database, native: str) -> bool:
    return db.value(_LIVE_KEY, {"native": native}) is not None


def live_texts(db: Database, native: str) -> Iterator[str]:
    """The texts of a live session's messages."""
    return (text for (text,) in db.each(_LIVE_TEXTS, {"native": native}))


def delete_live(db: Database, natives: Collection[str]) -> None:
    """Delete live sessions. Sessions that continue them must be in ``natives`` too."""
    all_keys = [db.value(_LIVE_KEY, {"native": native}) for native in natives]
    keys = [key for key in all_keys if key is not None]
    lanes = [lane for key in keys for (lane,) in db.all(_LIVE_LANES, {"key": key})]
    bodies = {bytes(b) for lane in lanes for (b,) in db.all(_LIVE_BODIES, {"lane": lane})}
    for table in _OF_LIVE:
        delete(db, table, "session_key", keys)
    delete(db, "live_messages", "lane_id", lanes)
    # A lane may continue an earlier one, so later lanes are deleted first.
    delete(db, "live_lanes", "id", sorted(lanes, reverse=True))
    delete(db, "live_sessions", "id", keys)
    for body in sorted(bodies):
        db.execute(_LOCK_BODY, {"hash": body})
    if bodies:
        # Equal bodies are stored once, so another session may use them. An append locks its body.
        bodies -= {bytes(body) for (body,) in db.all(_BODIES_IN_USE)}
        delete(db, "live_bodies", "hash", sorted(bodies))


# ---------------------------------------------------------------- dictionaries


def replace_dictionaries(store: Store, numbers: Collection[int]) -> None:
    """Delete dictionaries, and compress the packs that used them without a dictionary."""
    for number in numbers:
        for source, start in store.db.all(_PACKS_WITH, {"id": number}):
            pack = store.raw.pack_at(source, start)
            anew = packed(store.raw.unpacked(source, pack), start, compressor())
            place = {"source": source, "start": start}
            store.db.execute(_REPACK, {**place, "hash": anew.hash, "body": anew.body})
        if store.db.value(_NEWEST_DICTIONARY) == number:
            # Other processes may still use the id of the newest dictionary. With an empty row after
            # it, no later dictionary gets this id.
            store.db.insert_one("dictionaries", ("flavor", "body"), ("", b""))
        store.db.execute(_DROP_DICTIONARY, {"id": number})
    store.raw.dictionary.cache_clear()


# ---------------------------------------------------------------- proof


def rows_with(db: Database, samples: Collection[bytes]) -> dict[bytes, list[str]]:
    """Each sample that is a text → the tables whose text columns contain it."""
    return {sample: list(_tables_with(db, sample)) for sample in samples if _is_text(sample)}


def _tables_with(db: Database, sample: bytes) -> Iterator[str]:
    pattern = {"sample": containing(sample.decode())}
    for table in all_tables():
        tests = [
            f"{column} like :sample escape '!'"
            for column in db.columns(table)
            if column in _text_columns()[table]
        ]
        if tests and db.one(f"select 1 from {table} where {' or '.join(tests)} limit 1", pattern):
            yield table


@cache
def _text_columns() -> dict[str, set[str]]:
    """The columns with texts of each table."""
    steps = "".join(all_steps())
    found = {
        table: {*re.findall(r"(\w+) \{text\}", columns)} for table, columns in _MADE.findall(steps)
    }
    for table, column in _ADDED.findall(steps):
        found[table].add(column)
    return found


def has_owner(db: Database, table: str) -> bool:
    """Whether each row of a table belongs to a session.

    If so, a text that is still in the table belongs to a session that was not deleted.
    """
    owned = {*_COLUMNS, *_ALSO.get(table, {})}.intersection(db.columns(table))
    return bool(owned) or table in _LAST or table.startswith("live_")


def has_stray_docs(store: Store, words: Collection[str]) -> bool:
    """Whether the word index has one of these words for an event or a session that is deleted."""
    for word in words:
        query = WordQuery(((QueryWord(word),),))
        events = sorted({event_of(doc) for doc in store.index.find(query, limit=MOST_DOCS)})
        titled = sorted(set(store.index.sessions_titled(query)))
        known = [row[0] for row in store.db.matching(_EVENTS_KNOWN, events)]
        sessions = [row[0] for row in store.db.matching(_SESSIONS_KNOWN, titled)]
        if len(known) < len(events) or len(sessions) < len(titled):
            return True
    return False


def blobs(db: Database) -> Iterator[tuple[str, bytes]]:
    """``(table, body)`` of all compressed values, except for the stored logs."""
    for table in all_tables():
        if table != "packs" and "body" in db.columns(table):
            for (body,) in db.each(f"select body from {table} where body is not null"):
                yield table, bytes(body)


def _is_text(sample: bytes) -> bool:
    try:
        return "\0" not in sample.decode()
    except UnicodeDecodeError:
        return False
