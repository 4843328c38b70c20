"""What only a server brings: addresses, passwords, lost connections, neighbours, many at once."""

import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from forking import start_script

from session_memory.core.errors import (
    SessionMemoryError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNotFound,
)
from session_memory.core.installation import install_hint
from session_memory.demo import demo_home
from session_memory.store import Store, connections, open_store
from session_memory.store.address import shown
from session_memory.store.copy_batches import EncodedRows
from session_memory.store.migrations import NEWEST, all_tables
from session_memory.store.postgres import Postgres
from session_memory.store.postgres_errors import to_store_error
from session_memory.store.postgres_ids import IDS_AT_ONCE
from session_memory.store.postgres_sql import to_psycopg
from session_memory.testing.collecting import check_sound, collect
from session_memory.testing.postgres import Server
from session_memory.testing.stores import PostgresStores

SECRET = "pa:ss/w@rd#1 %"


@pytest.fixture
def place(server_stores: PostgresStores) -> Iterator[str]:
    yield server_stores.empty_place("own")
    server_stores.close_places()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place) as store:
        yield store


@pytest.fixture
def admin(server_url: str) -> Iterator[Postgres]:
    db = Postgres(server_url)
    yield db
    db.close()


def elsewhere(url: str, **parts: str) -> str:
    """The same address with another user, password, port or database."""
    found = re.fullmatch(r"postgresql://(\w+):(\w+)@([\w.]+):(\d+)/(\w+)", url)
    assert found is not None
    names = ("user", "password", "host", "port", "database")
    values = dict(zip(names, found.groups(), strict=True)) | parts
    return "postgresql://{user}:{password}@{host}:{port}/{database}".format(**values)


# ------------------------------------------------------------ addresses


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://mira@db:5432/team", "postgresql://mira@db:5432/team"),
        ("postgresql://mira:secret@db:5432/team", "postgresql://mira@db:5432/team"),
        ("postgres://mira:secret@db/team?sslmode=require", "postgresql://mira@db/team"),
        ("postgresql://db/team?user=mira&password=secret", "postgresql://db/team"),
        ("postgresql://mira:sec/ret@db/team", "postgresql://mira@db/team"),
        ("postgresql://mira:sec?ret@db/team", "postgresql://mira@db/team"),
        ("postgresql://mira:sec@ret@db/team", "postgresql://mira@db/team"),
        ("postgresql://mira:secret@one:1,two:2/team", "postgresql://mira@one:1,two:2/team"),
        ("postgresql:///team?password=a@b", "postgresql://…"),
        ("postgresql://", "postgresql://"),
        ("/home/mira/a:b@c.db", "/home/mira/a:b@c.db"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, expected: str) -> None:
    assert shown(address) == expected


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://mira:{SECRET}@127.0.0.1:1/team",
        "postgresql://mira:123x@[::1/team",
        "postgresql://127.0.0.1:12x34/team",
        "postgresql://127.0.0.1/team?pasword=12x34",
    ],
)
def test_an_address_that_is_none_is_not_repeated(address: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(address)
    text = f"{caught.value} {caught.value.hint}"
    assert not any(part in text for part in (SECRET, "ss/w", "rd#1", "123x", "pasword"))
    assert caught.value.hint is not None and "%40" in caught.value.hint


def refusal(url: str) -> SessionMemoryError:
    with pytest.raises(SessionMemoryError) as caught:
        open_store(url)
    assert caught.value.hint
    seen = f"{caught.value!r} {caught.value} {caught.value.hint} {caught.value.__cause__}"
    password = url.partition("@")[0].rpartition(":")[2]
    assert password not in seen and quote(SECRET, safe="") not in seen and SECRET not in seen
    return caught.value


def test_a_wrong_password_says_so_at_once(server_url: str) -> None:
    error = refusal(elsewhere(server_url, password=quote(SECRET, safe="")))
    assert "password authentication failed" in str(error)
    assert error.hint is not None and ".pgpass" in error.hint


def test_a_database_that_does_not_exist_comes_with_the_command_to_make_it(server_url: str) -> None:
    error = refusal(elsewhere(server_url, database="nowhere"))
    assert isinstance(error, StoreNotFound)
    assert re.search(r"createdb -h 127.0.0.1 -p \d+ -U tester nowhere", error.hint or "")


def test_a_server_that_does_not_run_says_how_to_look(server_url: str) -> None:
    error = refusal(elsewhere(server_url, port="1"))
    assert "cannot connect to postgresql://tester@127.0.0.1:1/postgres" in str(error)
    assert error.hint == "Check that the server runs: pg_isready -h 127.0.0.1 -p 1"


def test_a_schema_that_does_not_exist_is_named_in_the_hint(server_url: str) -> None:
    error = refusal(f"{server_url}?options=-csearch_path%3Dnowhere")
    assert "has no schema" in str(error) and "create schema" in (error.hint or "")


def test_a_user_who_may_not_is_told_who_can_help(
    admin: Postgres, server_url: str, place: str
) -> None:
    admin.execute("drop role if exists guest")
    admin.execute("create role guest login password 'let-me-in'")
    open_store(place).close()
    schema = place.rpartition("=")[2].rpartition("%3D")[2]
    admin.execute(f"grant usage on schema {schema} to guest")
    url = elsewhere(server_url, user="guest", password="let-me-in")
    error = refusal(f"{url}?options=-csearch_path%3D{schema}")
    assert "permission denied" in str(error) and "grant" in (error.hint or "")
    # Who may read, reads.
    admin.execute(f"grant select on all tables in schema {schema} to guest")
    with open_store(f"{url}?options=-csearch_path%3D{schema}", create=False) as store:
        assert store.sessions.count() == 0
    admin.execute(f"revoke all on all tables in schema {schema} from guest")
    admin.execute(f"revoke all on schema {schema} from guest")
    admin.execute("drop role guest")


def test_without_the_driver_a_hint_says_how_to_install_it() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from session_memory.store import open_store
from session_memory.core.errors import StoreError
try:
    open_store("postgresql://x/y")
except StoreError as error:
    print(error.hint)
open_store(":memory:").close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{install_hint('postgres')}\n", done.stderr


def test_a_file_is_opened_without_the_driver_of_the_server() -> None:
    code = "import sys; from session_memory.store import open_store; open_store(':memory:').close()"
    code += "; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.DiskFull("could not extend file"), StoreFull),
        (psycopg.errors.LockNotAvailable("canceling statement"), StoreBusy),
        (psycopg.errors.TooManyConnections("sorry"), StoreBusy),
        (psycopg.errors.DeadlockDetected("deadlock"), StoreBusy),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute"), StoreError),
        (psycopg.OperationalError("the password is hunter2"), StoreError),
    ],
)
def test_what_the_driver_raises_becomes_an_error_of_ours(error: psycopg.Error, kind: type) -> None:
    ours = to_store_error(error, "postgresql://me:hunter2@db/team")
    assert type(ours) is kind and ours.hint
    assert "hunter2" not in str(ours)


# ------------------------------------------------------------ statements


def test_named_parameters_are_written_as_the_driver_wants_them() -> None:
    sql = "select ':no', '%s', 'it''s :no', a::text, b % 2 from t where c = :yes and d = :also_1"
    assert to_psycopg(sql) == (
        b"select ':no', '%%s', 'it''s :no', a::text, b %% 2 from t"
        b" where c = %(yes)s and d = %(also_1)s"
    )


def test_rows_on_their_way_are_seen_by_whoever_asks(store: Store) -> None:
    with store.transaction():
        store.db.insert("names", ("id", "name"), [(1, "one"), (2, "two")])
        assert store.db.all("select name from names order by id") == [("one",), ("two",)]
        store.db.insert("names", ("id", "name"), [(3, "three")])
        store.db.execute("update names set name = 'drei' where id = 3")
        store.db.update_many("update names set name = :to where id = :id", [{"id": 1, "to": "I"}])
    assert [row[0] for row in store.db.all("select name from names order by id")] == [
        "I",
        "two",
        "drei",
    ]


def test_rows_on_their_way_are_gone_when_the_transaction_is(store: Store) -> None:
    with pytest.raises(RuntimeError), store.transaction():
        store.db.insert("names", ("id", "name"), [(1, "one")])
        raise RuntimeError
    with store.transaction():
        store.db.insert("names", ("id", "name"), [(2, "two")])
    assert store.db.all("select name from names") == [("two",)]


def test_many_rows_are_read_one_by_one_while_others_are_asked_for(store: Store) -> None:
    store.db.insert("names", ("id", "name"), [(n, f"name {n}") for n in range(1000)])
    seen = 0
    for number, name in store.db.each("select id, name from names order by id"):
        assert store.db.value("select name from names where id = :id", {"id": number}) == name
        seen += 1
    assert seen == 1000


def test_what_a_swallowed_error_has_spoilt_is_not_said_to_be_kept(store: Store) -> None:
    with pytest.raises(StoreError, match="the transaction was rolled back"), store.transaction():
        store.db.execute("insert into names (name) values ('one')")
        with pytest.raises(StoreError):
            store.db.execute("insert into nowhere values (1)")
    assert store.db.value("select count(*) from names") == 0


def test_nothing_is_written_while_one_moment_is_looked_at(store: Store) -> None:
    with pytest.raises(StoreError, match="read-only"), store.db.snapshot():
        store.db.insert("names", ("name",), [("one",)])
    assert store.db.value("select count(*) from names") == 0


# ------------------------------------------------------------ neighbours


def test_tables_of_another_program_are_left_alone(admin: Postgres, place: str) -> None:
    schema = place.rpartition("%3D")[2]
    admin.execute(f"create table {schema}.invoices (id integer)")
    with open_store(place) as store:
        assert store.db.has_table("sessions")
    assert admin.all(f"select * from {schema}.invoices") == []


def test_a_table_that_only_has_our_name_is_not_taken(admin: Postgres, place: str) -> None:
    schema = place.rpartition("%3D")[2]
    admin.execute(f"create table {schema}.sessions (cookie text)")
    with pytest.raises(StoreError, match="another program"):
        open_store(place)
    assert not admin.has_table(f"{schema}.events")


def test_a_database_of_its_own_needs_no_schema(admin: Postgres, server_url: str) -> None:
    admin.execute("create database plain template template0")
    try:
        url = elsewhere(server_url, database="plain")
        with open_store(url) as store:
            collect(store, demo_home())
            check_sound(store)
        with pytest.raises(StoreNotFound):
            open_store(elsewhere(server_url), create=False)
    finally:
        admin.execute("drop database plain")


def test_many_processes_make_the_same_store_once(place: str) -> None:
    code = "import sys; from session_memory import open_store; open_store(sys.argv[1]).close()"
    made = [start_script(code, place) for _ in range(4)]
    assert [process.wait(timeout=60) for process in made] == [0] * 4
    with open_store(place) as store:
        assert store.db.all("select step from schema_steps order by step") == [
            (step,) for step in range(1, NEWEST + 1)
        ]


def test_text_is_ordered_by_its_bytes_whatever_the_servers_language(store: Store) -> None:
    words = ["a", "B", "_", "é", "Z", "z", "ä", "-"]
    store.db.insert("names", ("name",), [(word,) for word in words])
    found = [row[0] for row in store.db.all("select name from names order by name")]
    assert found == sorted(words, key=str.encode)


# ------------------------------------------------------------ many at once


def test_every_thread_has_a_connection_of_its_own(store: Store) -> None:
    """One writes in a transaction; what the other reads meanwhile is what was there before."""
    inside, done = threading.Event(), threading.Event()
    seen: list[int] = []

    def read() -> None:
        inside.wait(10)
        seen.append(store.sessions.count())
        seen.append(int(store.db.value("select count(*) from names")))
        done.set()

    reader = threading.Thread(target=read)
    reader.start()
    with store.transaction():
        store.db.execute("insert into names (name) values ('new')")
        inside.set()
        assert done.wait(10)
    reader.join()
    assert seen == [0, 0]
    assert store.db.value("select count(*) from names") == 1


def test_connections_of_threads_that_ended_are_used_again(store: Store) -> None:
    mine = "select count(*) from pg_stat_activity where query like '%names as n%'"

    def ask() -> None:
        store.db.all("select n.id from names as n")

    for _ in range(10):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert store.db.value(mine) <= 2


def test_a_writer_that_waits_too_long_is_told_so(
    place: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = connections._SETTINGS.replace("60s", "50ms")
    assert settings != connections._SETTINGS
    monkeypatch.setattr(connections, "_SETTINGS", settings)
    with open_store(place) as other, store.transaction():
        with pytest.raises(StoreBusy), other.transaction():
            raise AssertionError("nobody else may write now")
        # Reading goes on, and so does whoever waited in vain.
        assert other.sessions.count() == 0
    with open_store(place) as other, other.transaction():
        other.db.execute("insert into names (name) values ('x')")


def test_whoever_made_the_store_and_whoever_came_later_take_turns(
    admin: Postgres, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a schema whose name needs quotes, and with another one before it on the path, too."""
    monkeypatch.setattr(connections, "_SETTINGS", connections._SETTINGS.replace("60s", "50ms"))
    admin.execute('create schema "Odd Name"')
    admin.execute("create schema before_it")
    path = quote('"Odd Name"')
    try:
        with (
            open_store(
                f"{server_url}?options=-csearch_path%3D{path.replace('%20', '%5C%20')}"
            ) as one,
            open_store(one.db.url) as other,
            open_store(one.db.url.replace("%3D", "%3Dbefore_it,")) as third,
            one.transaction(),
        ):
            for late in (other, third):
                with pytest.raises(StoreBusy), late.transaction():
                    raise AssertionError("nobody else may write now")
    finally:
        admin.execute('drop schema "Odd Name" cascade')
        admin.execute("drop schema before_it cascade")


def test_stores_in_two_schemas_do_not_wait_for_each_other(
    server_stores: PostgresStores, store: Store
) -> None:
    with open_store(server_stores.place("other")) as other, store.transaction():
        with other.transaction():
            other.db.execute("insert into names (name) values ('x')")
        store.db.execute("insert into names (name) values ('y')")


def test_whether_others_wrote_is_answered_honestly(place: str, store: Store) -> None:
    with open_store(place) as other:
        store.db.others_wrote()
        with store.transaction():
            assert not store.db.others_wrote()
        with store.transaction():
            assert not store.db.others_wrote()
        assert not store.db.others_wrote()
        with other.transaction():
            pass
        assert store.db.others_wrote()
        assert not store.db.others_wrote()
        with other.transaction():
            pass
        with store.transaction():
            assert store.db.others_wrote()
            assert not store.db.others_wrote()


def test_a_mark_taken_while_another_process_writes_differs_afterwards(
    place: str, store: Store
) -> None:
    """Its rows are not in the snapshot that follows the mark."""
    with open_store(place) as other:
        with other.transaction():
            mark = store.db.write_mark()
            assert store.db.others_wrote()
        with store.transaction():
            assert store.db.write_mark() != mark
        store.db.others_wrote()
        with other.transaction():
            assert store.db.others_wrote()
        assert store.db.others_wrote()
    mark = store.db.write_mark()
    with store.transaction():
        assert store.db.write_mark() == mark


def test_a_sync_that_finds_nothing_new_writes_nothing(store: Store) -> None:
    collect(store, demo_home())
    writes = store.db.value("select last_value from write_count")
    assert collect(store, demo_home()).report.unchanged == 9
    assert store.db.value("select last_value from write_count") == writes


# ------------------------------------------------------------ lost connections


@pytest.fixture
def server() -> Iterator[Server]:
    """One that a test may stop."""
    made = Server(Path(tempfile.mkdtemp(prefix="session-memory-lost-")))
    made.ensure()
    yield made
    made.remove()


GUARDED = """
import os, signal, sys, tempfile
from pathlib import Path
from session_memory.testing.postgres import Guard, Server
place = Path(tempfile.mkdtemp(prefix="session-memory-guarded-"))
guard = Guard(place)
print(place, guard._waiting.pid, Server(place).ensure(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_for_tests_does_not_outlive_them() -> None:
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True)
    place, guard, url = done.stdout.split()
    waited = time.monotonic() + 30
    while Path(place).exists() and time.monotonic() < waited:
        time.sleep(0.05)
    assert not Path(place).exists(), f"process {guard} does not see that its starter is gone"
    with pytest.raises(StoreError, match="cannot connect"):
        open_store(url)


def test_a_server_that_was_restarted_costs_one_call(server: Server) -> None:
    with open_store(server.url) as store:
        collect(store, demo_home())
        before = store.fingerprint()
        server.restart()
        with pytest.raises(StoreError, match="connection to .* was lost") as caught:
            store.sessions.count()
        assert caught.value.hint is not None and "try again" in caught.value.hint
        assert store.fingerprint() == before
        with pytest.raises(StoreError, match="was lost"), store.transaction():
            store.db.execute("delete from links")
            server.restart()
            store.db.execute("delete from events")
        assert store.fingerprint() == before
        check_sound(store)


def test_inside_a_transaction_nothing_goes_on_after_the_connection_is_lost(
    server: Server,
) -> None:
    """Whoever swallows the error must not write the rest of it outside of the transaction."""
    with open_store(server.url) as store:
        with pytest.raises(StoreError), store.transaction():
            server.restart()
            for number in range(3):
                with pytest.raises(StoreError):
                    store.db.execute(f"insert into names (name) values ('{number}')")
        assert store.db.value("select count(*) from names") == 0


def test_a_connection_that_was_inherited_is_not_closed_by_the_child(place: str) -> None:
    code = """
import os, sys
from session_memory.store import open_store
store = open_store(sys.argv[1])
child = os.fork()
if not child:
    store.sessions.count()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert store.sessions.count() == 0
store.close()
print("well")
"""
    parent = start_script(code, place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert parent.communicate(timeout=60) == ("well\n", "")


def test_the_tables_are_those_of_the_migrations(admin: Postgres, store: Store) -> None:
    sql = "select count(*) from pg_tables where schemaname = current_schema()"
    # The record of the steps, and the two indexes of words.
    assert store.db.value(sql) == len(all_tables()) + 3


def encoded(*names: str) -> EncodedRows:
    rows = [struct.pack("!hi", 1, len(name)) + name.encode() for name in names]
    return EncodedRows("names", ("name",), rows)


def test_a_copy_beside_is_part_of_its_transaction(store: Store) -> None:
    db = store.db
    assert isinstance(db, Postgres)
    with db.loading(), db.transaction():
        db.insert("names", ("name",), [("before",)])
        db.copy_beside(encoded("beside"))
        db.insert("names", ("name",), [("next",)])
    names = "select count(*) from names where name in ('before', 'beside', 'next')"
    assert db.value(names) == 3


def test_an_error_of_a_copy_beside_rolls_back_and_is_raised_by_the_next(store: Store) -> None:
    db = store.db
    assert isinstance(db, Postgres)
    twice = encoded("twice", "twice")
    with pytest.raises(StoreError, match="twice"), db.loading(), db.transaction():
        db.insert("names", ("name",), [("lost",)])
        db.copy_beside(twice)
        db.value("select 1")
    with pytest.raises(StoreError, match="twice"), db.loading(), db.transaction():
        db.insert("names", ("name",), [("lost",)])
        db.copy_beside(twice)
    assert db.value("select count(*) from names where name in ('lost', 'twice')") == 0


def test_only_tables_that_had_rows_are_rewritten(store: Store) -> None:
    # Another test may have had this schema, and messages in it.
    store.db.execute("vacuum full live_messages")
    file = "select pg_relation_filenode(to_regclass(:table))"
    before = {table: store.db.value(file, {"table": table}) for table in ("live_messages", "names")}
    store.db.execute("insert into names (name) values ('gone')")
    store.db.execute("delete from names where name = 'gone'")
    assert store.db.clear_deleted() == []
    after = {table: store.db.value(file, {"table": table}) for table in before}
    assert after["names"] != before["names"]
    assert after["live_messages"] == before["live_messages"] is not None


@pytest.mark.parametrize("keys", [[7, 40_000], [1, 2**31, 2**62], [*range(32_000, 33_000)]])
def test_keys_of_any_size_are_found_after_small_ones(store: Store, keys: list[int]) -> None:
    """psycopg kept the integer type of the first array, so large ids failed."""
    db = store.db
    with db.transaction():
        db.execute("create table numbered (id bigint)")
        db.insert("numbered", ("id",), [(key,) for key in {1, 7, *keys}])
    sql = "select id from numbered where id in ({keys})"
    assert sorted(row[0] for row in db.matching(sql, [1, 7])) == [1, 7]
    assert sorted(row[0] for row in db.matching(sql, keys)) == keys


def test_a_load_takes_ids_in_blocks_and_nobody_gets_one_twice(place: str, store: Store) -> None:
    with open_store(place) as other, store.db.loading():
        with store.db.transaction():
            first = store.db.next_ids("events", 2)
            assert store.db.next_ids("events", 3) == first + 2
        with other.db.transaction():
            elsewhere_taken = other.db.next_ids("events", 1)
        with store.db.transaction():
            assert store.db.next_ids("events", 1) == first + 5 < elsewhere_taken
            large = store.db.next_ids("events", IDS_AT_ONCE + 1)
            assert large > elsewhere_taken
    with store.db.transaction():
        assert store.db.next_ids("events", 1) > large + IDS_AT_ONCE


def test_a_savepoint_parts_the_rows_before_it_from_those_after_it(store: Store) -> None:
    db = store.db
    db.execute("create table notes (note text)")
    with db.transaction():
        db.insert("notes", ("note",), [("before",)])
        db.execute("savepoint here")
        assert db.value("select count(*) from notes") == 1
        db.insert("notes", ("note",), [("after",)])
        db.execute("rollback to savepoint here")
        db.execute("release savepoint here")
    assert db.all("select note from notes") == [("before",)]


SOMEBODY_WAITS = """
    select exists (select 1 from pg_locks where pg_backend_pid() = any(pg_blocking_pids(pid)))
"""


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_writer_that_waited_sees_what_was_written_meanwhile(
    place: str, store: Store, level: str
) -> None:
    """Whatever isolation level the server has as its default."""
    store.db.execute("create table notes (note text)")
    escaped = level.replace(" ", "\\ ")
    setting = quote(f" -cdefault_transaction_isolation={escaped}")
    seen: list[object] = []

    def wait_and_look() -> None:
        with open_store(place + setting) as other:
            assert other.db.value("show default_transaction_isolation") == level
            with other.db.transaction():
                seen.append(other.db.value("select note from notes"))

    waiting = threading.Thread(target=wait_and_look)
    with store.db.transaction():
        waiting.start()
        while waiting.is_alive() and not store.db.value(SOMEBODY_WAITS):
            time.sleep(0.01)
        store.db.execute("insert into notes values ('written meanwhile')")
    waiting.join()
    assert seen == ["written meanwhile"]
