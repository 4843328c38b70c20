"""What all tests share: a home that is nobody's, recorded samples, and builders of logs.

Samples live in ``tests/data``. More of them may lie beside the checkout, in ``shared/samples``, or
where ``SESSION_MEMORY_SHARED`` says; tests that take one run on those too.

Tests that take a ``database`` run on both. The PostgreSQL server is started when the first test
wants it, once for all workers, and thrown away at the end; ``SESSION_MEMORY_TEST_POSTGRES`` names
another one to use instead.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import stores_made_by
from session_memory.testing.postgres import Guard, NoServer, Server
from session_memory.testing.stores import PostgresStores, SqliteStores, Stores

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or ROOT.parent / "shared")
FOREIGN = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GROK_HOME",
    "MYCODE_HOME",
    "SESSION_MEMORY_CONFIG",
    "SESSION_MEMORY_STORE",
    "XDG_CONFIG_HOME",
)
SERVER = "SESSION_MEMORY_TEST_SERVER"
DATABASES = ("sqlite", "postgresql")
AGENTS = ("claude", "codex", "grok")


GUARD = pytest.StashKey[Guard]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        # Workers inherit it, and whichever needs the server first starts it there.
        os.environ[SERVER] = tempfile.mkdtemp(prefix="session-memory-server-")
        config.stash[GUARD] = Guard(Path(os.environ[SERVER]))


def pytest_unconfigure(config: pytest.Config) -> None:
    if GUARD in config.stash:
        config.stash[GUARD].end()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database" in metafunc.fixturenames:
        only = metafunc.definition.get_closest_marker("only")
        metafunc.parametrize("database", only.args if only else DATABASES, indirect=True)
    if "sample" in metafunc.fixturenames:
        recorded = [path for agent in AGENTS for path in sorted((DATA / agent).glob("*"))]
        for agent in AGENTS:
            told = SHARED.glob(f"samples/agents/{agent}-*/*/EXPECTED.json")
            recorded += sorted(path.parent for path in told)
        metafunc.parametrize("sample", recorded, ids=_sample_id)
    if "public_logs" in metafunc.fixturenames:
        published = [
            path
            for agent in AGENTS
            for path in sorted(SHARED.glob(f"samples/public/{agent}/*"))
            if path.is_dir()
        ]
        # Each collection by itself, and all of an agent's in one store.
        roots = list(dict.fromkeys([*published, *(path.parent for path in published)]))
        metafunc.parametrize("public_logs", roots, ids=[path.name for path in roots])


def _sample_id(path: Path) -> str:
    kind = "data" if DATA in path.parents else "shared"
    return f"{kind}-{path.parent.name.partition('-')[0]}-{path.name}"


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No log and no setting of this machine decides a result."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("nobodys-home")))
        yield


@pytest.fixture
def claude(tmp_path: Path) -> ClaudeHome:
    """An empty home of Claude Code to write logs into."""
    return ClaudeHome(tmp_path / "home")


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """Which of the two a test runs on."""
    return str(request.param)


@pytest.fixture(scope="session")
def server_url() -> str:
    """The address of a PostgreSQL server."""
    if told := os.environ.get("SESSION_MEMORY_TEST_POSTGRES"):
        return told
    try:
        return Server(Path(os.environ[SERVER])).ensure()
    except NoServer as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"NOTHING IS TESTED ON POSTGRESQL: {error}")


@pytest.fixture(scope="session")
def server_stores(server_url: str) -> Iterator[PostgresStores]:
    stores = PostgresStores(server_url)
    yield stores
    stores.remove()


@pytest.fixture
def stores(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """Makes empty stores on the database that the test runs on."""
    if database == "sqlite":
        yield SqliteStores(tmp_path / "store")
        return
    made: PostgresStores = request.getfixturevalue("server_stores")
    yield made
    made.forget_places()


@pytest.fixture
def on_the_database(stores: Stores) -> Iterator[None]:
    """Whatever store a test makes without saying where, is on the database it runs on."""
    with stores_made_by(stores.new):
        yield
