"""Text that a database may refuse, in every column that holds text, on both databases."""

from session_memory.core.text import escaped
from session_memory.store import Store, open_store
from session_memory.store.event_rows import EventRow
from session_memory.store.migrations import all_tables
from session_memory.store.record_keys import place_key, record_key
from session_memory.store.session_links import add_link, links_to
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow
from session_memory.store.usage import NewUsage
from session_memory.testing.stores import Stores

HOSTILE = "NUL \0, half \ud800 and \udcff, :name %s %(x)s '' \\ {keys} \U0001f30a \u202e"
LONG = HOSTILE + "x" * 100_000


def texts_of(struct: type) -> dict[str, str]:
    """Hostile text for every field that takes text."""
    hints = {name: str(kind) for name, kind in struct.__annotations__.items()}
    return {name: LONG for name, kind in hints.items() if "str" in kind}


def filled(store: Store) -> tuple[SourceRow, CollectedSession]:
    with store.transaction():
        source = SourceRow(**{**texts_of(SourceRow), "host": HOSTILE[:3], "path": "p"})
        source.bookkeeping = "{}"
        source.role = "log"
        store.sources.save(source)
        source.cursor_state = HOSTILE
        store.sources.save(source)
        session = CollectedSession(
            **{**texts_of(CollectedSession), "uid": "claude:s", "state": b"\x90"}
        )
        session.parent_uid = HOSTILE
        store.sessions.save(session)
        store.sessions.save(session)
        store.sessions.link_source(session.id, source.id)
        event = EventRow(
            seq=1,
            ts=None,
            kind=HOSTILE,
            marks=HOSTILE,
            role=HOSTILE,
            tool=LONG,
            native_kind=HOSTILE,
            model=HOSTILE,
            parent_seq=None,
            branch="branch",
            summary=LONG,
            source_id=source.id,
            place=0,
            length=5,
            record=record_key(LONG),
            block=0,
            call_id=LONG,
            response_id=LONG,
            path=LONG,
            tokens=0,
            is_sidechain=True,
            is_error=False,
            duration_ms=None,
            exit_code=None,
        )
        store.events.add(session.id, [event])
        other = EventRow(
            seq=2,
            ts=None,
            kind="user_msg",
            marks="",
            role="user",
            tool=None,
            native_kind="user",
            model=None,
            parent_seq=None,
            branch=None,
            summary="plain",
            source_id=source.id,
            place=5,
            length=5,
            record=place_key(HOSTILE),
            block=0,
            call_id=None,
            response_id=None,
            path=None,
            tokens=0,
            is_sidechain=True,
            is_error=False,
            duration_ms=None,
            exit_code=None,
        )
        store.events.add(session.id, [other])
        usage = NewUsage(7, LONG, 1, None, HOSTILE, HOSTILE, HOSTILE, 1, 2, 3, 4, 5, 6, 7)
        store.usage.add(session.id, [usage], session.id)
        store.problems.add(source.id, [(0, 1, HOSTILE, LONG), (0, 1, "plain", HOSTILE)], 0)
        add_link(store.db, session.id, escaped(HOSTILE), HOSTILE)
    return source, session


def test_any_text_can_be_stored_in_any_column(stores: Stores) -> None:
    with stores.new() as store:
        source, session = filled(store)
        assert store.sources.get(source.id).cursor_state == escaped(HOSTILE)
        found = store.sessions.row("claude:s")
        assert found is not None and found.title == escaped(LONG)
        event, plain = store.events.of(session.id, "claude:s")
        assert (event.summary, event.tool, event.kind) == tuple(map(escaped, (LONG, LONG, HOSTILE)))
        assert event.native_id == escaped(LONG)
        assert (plain.summary, plain.native_id) == ("plain", None)
        [usage] = store.usage.of(session.id, "claude:s")
        assert (usage.usage_id, usage.model) == (escaped(LONG), escaped(HOSTILE))
        assert [problem.reason for problem in store.problems.every()] == [
            escaped(HOSTILE),
            "plain",
        ]
        assert links_to(store.db, escaped(HOSTILE)) == [("claude:s", escaped(HOSTILE))]
        assert store.events.holders([record_key(LONG)]) == [(record_key(LONG), session.id)]


def test_it_is_the_same_text_on_both_databases(stores: Stores) -> None:
    with stores.new() as one, open_store(":memory:") as other:
        filled(one)
        filled(other)
        for table in all_tables():
            sql = f"select {', '.join(one.db.columns(table))} from {table}"
            assert sorted(one.db.all(sql)) == sorted(other.db.all(sql)), table
