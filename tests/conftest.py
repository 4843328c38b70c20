"""Fixtures for all tests: an empty HOME, recorded samples, log builders and stores.

Samples are in ``tests/data``. A test with a ``sample`` argument runs on each. There are more
in a directory ``shared`` beside the checkout, or where ``SESSION_MEMORY_SHARED`` points to. A test
with an ``any_sample`` argument runs on those as well. No test needs that directory, except those on
published logs, which are skipped without it.

A test with a ``database`` argument runs on SQLite and on PostgreSQL. The first test that needs the
PostgreSQL server starts it, for all workers, and it is removed at the end.
``SESSION_MEMORY_TEST_POSTGRES`` is the address of another server to use, or ``none``.
"""

import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
from effort import EFFORT
from forked_workers import ForkedWorkers, report_results_alone
from hanging import HangLimit
from late import note_what_is_loaded
from rewriting import share_the_rewriting

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
OTHER_SERVER = "SESSION_MEMORY_TEST_POSTGRES"
DATABASES = ("sqlite", "postgresql")
AGENTS = (
    "amp",
    *("aider", "claude", "cline", "codex", "copilot", "cursor", "gemini", "grok", "kimi"),
    *("droid", "opencode", "pi", "qwen", "roo", "vibe"),
)


NO_PUBLIC_LOGS = "published logs are only in shared/samples/public: set SESSION_MEMORY_SHARED"

GUARD = pytest.StashKey[Guard]()
WORKERS = pytest.StashKey[ForkedWorkers]()

# A store that a test left open keeps its connections until the search for garbage finds it, and
# the server has only so many.
COLLECTED_EVERY = 10
_ON_THE_SERVER = count(1)
_DIRECTORIES = count(1)
_NOT_IN_NAMES = re.compile(r"\W")


def pytest_configure(config: pytest.Config) -> None:
    _count_no_memory()
    config.pluginmanager.register(HangLimit())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs (`make test &`) with SIGINT ignored, and child processes
        # inherit that. Tests interrupt their children, so the usual handler is set again.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # The same for `nohup make test`.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Where PYTHONDONTWRITEBYTECODE is set, each of the many processes that the tests start would
    # compile the whole package, and each worker all tests.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if not hasattr(config, "workerinput") and OTHER_SERVER not in os.environ:
        # Workers inherit the variable. The first that needs the server starts it there.
        os.environ[SERVER] = tempfile.mkdtemp(prefix="session-memory-server-")
        config.stash[GUARD] = Guard(Path(os.environ[SERVER]))


def _count_no_memory() -> None:
    """Without its statistics SQLite takes no lock for each piece of memory that it uses."""
    if not apsw.connections():
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)
        apsw.initialize()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    if sys.platform != "linux":
        return  # Elsewhere the libraries of the system are not made for forks.
    config.stash[WORKERS] = ForkedWorkers(config.invocation_params.args, sys.path)
    for spec in specs:
        if spec.popen and not spec.python:
            spec.python = config.stash[WORKERS].interpreter


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is not None:
        report_results_alone(session.config)
    if worker is not None and session.config.args == ["tests"]:
        # What is imported and collected now stays.
        gc.disable()
        share_the_rewriting(DATA.parent, worker["workerid"], worker["workercount"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = _every_nth_on_a_server(item for item in items if _runs_on_its_database(item))
    # They take longest. At the end, one worker would be busy with them and the others idle.
    items.sort(key=lambda item: not _takes_a_browser(item))


def _every_nth_on_a_server(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Without cases that give a server statements which other cases of their module give it, too.

    ``every`` marks such modules. What runs on no other database is kept. With more effort all
    cases run.
    """
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        every = item.get_closest_marker("every")
        if every is not None and _runs_on_both(item):
            module = item.nodeid.partition("::")[0]
            seen[module] += 1
            if EFFORT <= 1 and (seen[module] - 1) % every.args[0]:
                continue
        kept.append(item)
    return kept


def _runs_on_both(item: pytest.Item) -> bool:
    """True for a case of a server that has its like on SQLite."""
    only = item.get_closest_marker("only")
    case = getattr(item, "callspec", None)
    is_on_a_server = case is not None and case.params.get("database") == "postgresql"
    return is_on_a_server and (only is None or "sqlite" in only.args)


def _runs_on_its_database(item: pytest.Item) -> bool:
    """False if ``only`` marks a single case of a test, and that is of another database."""
    only = item.get_closest_marker("only")
    case = getattr(item, "callspec", None)
    database = case.params.get("database") if case else None
    return only is None or database is None or database in only.args


def pytest_collection_finish() -> None:
    note_what_is_loaded()
    # The tests themselves stay until the end: no search for garbage has to visit them.
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    try:
        yield
    finally:
        if _takes_a_browser(item) and not _takes_a_browser(nextitem):
            # Most workers never load this module.
            from browsing import close_browser  # noqa: PLC0415

            close_browser()


def _takes_a_browser(item: pytest.Item | None) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


def pytest_unconfigure(config: pytest.Config) -> None:
    if WORKERS in config.stash:
        config.stash[WORKERS].close()
    if GUARD in config.stash:
        config.stash[GUARD].end()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database" in metafunc.fixturenames:
        only = metafunc.definition.get_closest_marker("only")
        metafunc.parametrize("database", only.args if only else DATABASES, indirect=True)
    if "sample" in metafunc.fixturenames:
        metafunc.parametrize("sample", _samples(), ids=_sample_id)
    if "any_sample" in metafunc.fixturenames:
        # On a server, those of ``tests/data`` alone.
        here = pytest.mark.only("sqlite")
        shared = [pytest.param(path, marks=here) for path in _shared_samples()]
        metafunc.parametrize("any_sample", [*_samples(), *shared], ids=_sample_id)
    if "public_logs" in metafunc.fixturenames:
        published = [
            path
            for agent in AGENTS
            for path in sorted(SHARED.glob(f"samples/public/{agent}/*"))
            if path.is_dir()
        ]
        # All of an agent's in one store. With more effort, each collection by itself as well.
        alone = published if EFFORT > 1 else []
        roots = dict.fromkeys([*alone, *(path.parent for path in published)])
        cases = [pytest.param(path, id=path.name) for path in roots]
        missing = pytest.param(None, id="none", marks=pytest.mark.skip(reason=NO_PUBLIC_LOGS))
        metafunc.parametrize("public_logs", cases or [missing])


def _samples() -> list[Path]:
    return [path for agent in AGENTS for path in sorted((DATA / agent).glob("*"))]


def _shared_samples() -> list[Path]:
    """Most are in ``tests/data`` too, with other names of people and machines."""
    expected = (SHARED.glob(f"samples/agents/{agent}-*/*/EXPECTED.json") for agent in AGENTS)
    return sorted(path.parent for paths in expected for path in paths)


def _sample_id(path: Path) -> str:
    kind = "data" if DATA in path.parents else "shared"
    return f"{kind}-{path.parent.name.partition('-')[0]}-{path.name}"


@pytest.fixture(scope="session", autouse=True)
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """HOME is an empty directory, so that no log or setting of this machine changes a result."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("empty-home")))
        yield


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory. pytest's own takes a millisecond, for a link to each and its removal."""
    name = _NOT_IN_NAMES.sub("_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}-{next(_DIRECTORIES)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(scope="session")
def analyzed_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the demo sessions, analyzed. Tests that write take a copy."""
    # Most workers never need these modules.
    from session_memory.collect.discover import roots  # noqa: PLC0415
    from session_memory.collect.sync import sync  # noqa: PLC0415
    from session_memory.config import Config  # noqa: PLC0415
    from session_memory.demo import demo_home  # noqa: PLC0415
    from session_memory.learn.analyze import analyze  # noqa: PLC0415
    from session_memory.store import open_store  # noqa: PLC0415

    path, config = tmp_path_factory.mktemp("analyzed") / "demo.db", Config()
    with open_store(path) as store:
        sync(store, config, roots(config, (demo_home(),)), host="demo")
        analyze(store)
    return path


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for one test, with no setting of Session Memory in the environment, in UTC."""
    for name in ("SESSION_MEMORY_STORE", "SESSION_MEMORY_CONFIG", "SESSION_MEMORY_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path


@pytest.fixture
def tidewatch(tmp_path: Path) -> Path:
    """The checkout that most of the demo sessions worked in; here it is empty."""
    place = tmp_path / "tidewatch"
    place.mkdir()
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


@pytest.fixture
def claude(tmp_path: Path) -> ClaudeHome:
    """An empty home directory to write Claude Code logs into."""
    return ClaudeHome(tmp_path / "home")


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """``sqlite`` or ``postgresql``: the test runs once on each."""
    return str(request.param)


@pytest.fixture(scope="session")
def server_url() -> str:
    """The address of a PostgreSQL server."""
    if given := os.environ.get(OTHER_SERVER):
        if given == "none":
            pytest.skip(f"NOTHING IS TESTED ON POSTGRESQL: {OTHER_SERVER}=none")
        return given
    try:
        return Server(Path(os.environ[SERVER])).ensure()
    except NoServer as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"NOTHING IS TESTED ON POSTGRESQL: {error}")


@pytest.fixture(scope="session")
def server_stores(server_url: str) -> Iterator[PostgresStores]:
    """Makes empty stores on the PostgreSQL server."""
    # It imports psycopg, which takes a tenth of a second.
    from kept_connections import connections_are_kept  # noqa: PLC0415

    stores = PostgresStores(server_url)
    with connections_are_kept():
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
    made.close_places()
    if next(_ON_THE_SERVER) % COLLECTED_EVERY == 0:
        gc.collect()


@pytest.fixture
def on_the_database(stores: Stores) -> Iterator[None]:
    """`new_store` makes stores on the database that the test runs on."""
    with stores_made_by(stores.new):
        yield
