"""The application over a store with the demo sessions, asked without a network."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.config import Config
from session_memory.web.answering import Answering
from session_memory.web.app import make_app
from session_memory.web.live import Changes
from session_memory.web.memories import Memories
from session_memory.web.security import cookie_name
from session_memory.web.site import Site

PORT = 4711
TOKEN = "the-token-of-this-test"
HERE = f"http://127.0.0.1:{PORT}"
Client = Callable[..., TestClient]


@pytest.fixture(autouse=True)
def home(own_home: Path) -> Path:
    return own_home


@pytest.fixture(scope="session")
def demo_store(analyzed_demo: Path) -> Path:
    return analyzed_demo


@pytest.fixture
def client_of() -> Iterator[Client]:
    """A browser that knows the token, for a store."""
    opened: list[Memories | Changes] = []

    def make(
        store: Path | str, *, cookies: bool = True, config: Config | None = None
    ) -> TestClient:
        def memory() -> Memory:
            return Memory(str(store), config or Config(), create=False)

        memories, changes = Memories(memory), Changes(memory)
        opened.extend((memories, changes))
        app = make_app(Answering(memories, changes, Site()), changes, TOKEN, PORT)
        kept = {cookie_name(PORT): TOKEN} if cookies else {}
        return TestClient(app, base_url=HERE, cookies=kept, follow_redirects=False)

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def client(client_of: Client, demo_store: Path) -> TestClient:
    return client_of(demo_store)


@pytest.fixture
def memory(demo_store: Path) -> Iterator[Memory]:
    with Memory(str(demo_store), Config(), create=False) as opened:
        yield opened
