"""The same first sync into a PostgreSQL server on this machine, set up as it comes: durable."""

import tempfile
from pathlib import Path

from measurements import Measurements, say
from processes import Failed

from session_memory.testing.postgres import NoServer, Server
from session_memory.testing.stores import PostgresStores

TIMES = 2


def measure_postgres(m: Measurements) -> None:
    """Beside SQLite: the first sync, one that finds nothing new, and copies both ways."""
    server = Server(Path(tempfile.mkdtemp(prefix="session-memory-bench-server-")), durable=True)
    try:
        stores = PostgresStores(server.ensure())
        _measure(m, stores)
        stores.remove()
    except NoServer as error:
        say(f"PostgreSQL is not measured: {error}")
    finally:
        server.remove()


def _measure(m: Measurements, stores: PostgresStores) -> None:
    for number in range(TIMES):
        place = stores.empty_place(f"first-{number}")
        m.sync("first sync, PostgreSQL", place, m.corpus.home)
    wall = min(run.wall for run in m.runs["first sync, PostgreSQL"])
    m.figures["pg_sync_wall"] = wall / m.figures["sync_seconds"]
    for _ in range(5):
        m.sync("nothing new, PostgreSQL", place, m.corpus.home)
    copies = [
        ("copy-store to PostgreSQL", m.store, stores.empty_place("copy")),
        ("copy-store from PostgreSQL", place, str(m.bench.scratch / "copied.db")),
    ]
    prints = set()
    for name, source, target in copies:
        answer = m.timed(name, "copy-store", source, target, "--json").answer
        prints.add(answer["fingerprint"])
    if len(prints) != 1:
        raise Failed(f"the stores of the same logs differ: {sorted(prints)}")
