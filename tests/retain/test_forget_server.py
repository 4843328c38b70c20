"""Forgetting on a PostgreSQL server: whose tables they are, and what the server itself keeps."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from keeping import LATER, Keeper, talk

from session_memory.cli import main
from session_memory.retain.forget import compact, forget, sweep
from session_memory.store import open_store, postgres_sweep
from session_memory.store.postgres import Postgres
from session_memory.testing.collecting import check_sound
from session_memory.testing.stores import PostgresStores

pytestmark = pytest.mark.only("postgresql")
ALPHA, SECRET = "claude:alpha", "xylophone-quartet-zanzibar"
# As docs/postgresql.md lists them for a user who syncs.
RIGHTS = """
    grant usage on schema {schema} to {role};
    grant select, insert, update, delete on all tables in schema {schema} to {role};
    grant usage, select, update on all sequences in schema {schema} to {role};
"""


@pytest.fixture
def place(server_stores: PostgresStores) -> Iterator[str]:
    yield server_stores.empty_place("owned")
    server_stores.close_places()


@pytest.fixture
def admin(server_url: str) -> Iterator[Postgres]:
    db = Postgres(server_url)
    yield db
    db.close()


@pytest.fixture
def guest(admin: Postgres, place: str, tmp_path: Path) -> Iterator[Keeper]:
    """The store of another role, used with no more than the documented rights."""
    open_store(place).close()
    schema = place.rpartition("%3D")[2]
    role = f"guest_{schema[-6:]}"
    admin.execute(f"create role {role} login password 'let-me-in'")
    for statement in RIGHTS.format(schema=schema, role=role).split(";\n")[:-1]:
        admin.execute(statement)
    keeper = Keeper(tmp_path, re.sub(r"//\w+:\w+@", f"//{role}:let-me-in@", place))
    yield keeper
    keeper.close()
    admin.execute(f"drop owned by {role}")
    admin.execute(f"drop role {role}")


def filled(keeper: Keeper) -> None:
    talk(keeper.claude.session("alpha"), f"please {SECRET}", f"again {SECRET}")
    talk(keeper.claude.session("beta"), "something else")
    keeper.collect()


def statistics_of(db: Postgres, schema: str) -> str:
    sql = "select array_agg(s::text) from pg_stats s where schemaname = :schema"
    return str(db.value(sql, {"schema": schema}))


def test_the_documented_rights_are_enough_for_a_user_who_syncs(guest: Keeper) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text()
    for line in RIGHTS.strip().splitlines():
        said = line.strip().format(schema="memory", role="mira")
        assert said in docs, said
    filled(guest)
    guest.evict(ALPHA)
    guest.restore(ALPHA)
    talk(guest.claude.logs[1], "and more")
    guest.collect()
    check_sound(guest.store)


def test_what_a_role_that_does_not_own_the_tables_leaves_is_said_and_stays_marked(
    guest: Keeper, place: str
) -> None:
    filled(guest)
    done = forget(guest.store, guest.config, [ALPHA], LATER)
    (said,) = done.proof.unswept
    assert "your role may not vacuum it" in said
    assert "Let tester, who owns it, run: session-memory store compact" in said
    assert guest.store.sessions.uids() == ["claude:beta"]
    # It is said again, until the owner has cleared it.
    assert sweep(guest.store) == [said]
    with open_store(place) as owner:
        *_, left = compact(owner, guest.config, LATER)
    assert left == []
    assert sweep(guest.store) is None


def test_what_an_administrator_has_rewritten_is_clean(
    guest: Keeper, admin: Postgres, place: str
) -> None:
    filled(guest)
    assert forget(guest.store, guest.config, [ALPHA], LATER).proof.unswept
    schema = place.rpartition("%3D")[2]
    tables = admin.all(f"select tablename::text from pg_tables where schemaname = '{schema}'")
    for (table,) in tables:
        admin.execute(f"vacuum full {schema}.{table}")
    assert sweep(guest.store) == []
    assert sweep(guest.store) is None


def test_the_command_fails_as_long_as_something_is_not_cleared(guest: Keeper, place: str) -> None:
    filled(guest)

    def run(*words: str, store: str) -> tuple[int, str]:
        environment = {"HOME": str(guest.claude.path), "NO_COLOR": "1"}
        done = CliRunner().invoke(main, [*words, "--store", store], env=environment)
        return done.exit_code, done.output

    for words in (("forget", ALPHA, "--yes"), ("forget",), ("store", "compact")):
        status, output = run(*words, store=guest.place)
        assert status == 1 and "your role may not vacuum it" in output, output
    assert run("store", "compact", store=place)[0] == 0
    status, output = run("forget", store=guest.place)
    assert status == 2 and "give the sessions to forget" in output


def test_deleted_rows_that_an_older_transaction_sees_are_noticed(
    keeper: Keeper, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(keeper)
    monkeypatch.setattr(postgres_sweep, "PATIENCE_S", 0.01)
    with psycopg.connect(server_url) as older:
        older.execute("set transaction isolation level repeatable read")
        older.execute("select 1")
        done = forget(keeper.store, keeper.config, [ALPHA], LATER)
        (said,) = done.proof.unswept
        assert "another transaction still sees the deleted rows" in said
    monkeypatch.undo()
    assert sweep(keeper.store) == []
    assert sweep(keeper.store) is None


def test_tables_that_another_program_reads_are_named_and_nobody_waits_long(
    keeper: Keeper, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(keeper)
    monkeypatch.setattr(postgres_sweep, "LOCK_S", 0.3)
    monkeypatch.setattr(postgres_sweep, "PATIENCE_S", 0.01)
    schema = keeper.place.rpartition("%3D")[2]
    with psycopg.connect(server_url) as reader:
        reader.execute(f"lock table {schema}.events, {schema}.packs in access share mode")
        said = forget(keeper.store, keeper.config, [ALPHA], LATER).proof.unswept
        assert any("events, packs: another program uses it" in line for line in said)
        assert keeper.store.db.value("show lock_timeout") == "1min"
    monkeypatch.undo()
    assert sweep(keeper.store) == []


# ---------------------------------------------------------------- statistics of the planner


def analyze(admin: Postgres, schema: str) -> None:
    """Let the server make statistics of a store. It has the tables of many other tests, too."""
    tables = admin.all("select tablename from pg_tables where schemaname = :its", {"its": schema})
    admin.execute(f"analyze {', '.join(f'{schema}.{table}' for (table,) in tables)}")


def test_the_planner_keeps_no_texts(keeper: Keeper, admin: Postgres) -> None:
    filled(keeper)
    schema = keeper.place.rpartition("%3D")[2]
    analyze(admin, schema)
    assert "'names'" not in statistics_of(admin, schema)
    assert SECRET not in statistics_of(admin, schema)
    assert "xylophone" not in statistics_of(admin, schema)
    assert "session_sources" in statistics_of(admin, schema), "nothing was analyzed"


def test_texts_in_the_statistics_of_an_older_store_are_removed(
    keeper: Keeper, admin: Postgres
) -> None:
    filled(keeper)
    schema = keeper.place.rpartition("%3D")[2]
    for table, column in (("events", "summary"), ("sessions", "title"), ("words", "lexemes")):
        admin.execute(f"alter table {schema}.{table} alter column {column} set statistics 100")
    admin.execute(f"alter index {schema}.sessions_by_title alter column 1 set statistics 100")
    admin.execute(f"grant select on {schema}.event_view to pg_monitor")
    analyze(admin, schema)
    assert SECRET in statistics_of(admin, schema)
    before = keeper.store.db.value("select pg_relation_filenode('pg_statistic')")
    done = forget(keeper.store, keeper.config, [ALPHA, "claude:beta"], LATER)
    assert done.proof.unswept == [] and done.proof.found == []
    assert "xylophone" not in statistics_of(admin, schema)
    assert keeper.store.db.value("select pg_relation_filenode('pg_statistic')") != before
    assert keeper.store.db.all("select * from event_view") == []
    may = f"select has_table_privilege('pg_monitor', '{schema}.event_view', 'select')"
    assert admin.value(may)
    analyze(admin, schema)
    assert keeper.store.db.clear_deleted() == []
