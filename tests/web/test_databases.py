"""The pages are the same whether a file or a server has the sessions."""

import re
from pathlib import Path

import pytest

from session_memory.derive.reindex import ensure_index
from session_memory.store import open_store
from session_memory.store.copying import copy_everything
from session_memory.testing.stores import PostgresStores, Stores

from .conftest import Client

SESSION = "/s/91d4f0a7"
PAGES = (
    *("/", "/sessions", "/sessions?sort=cost", "/sessions?q=tide", "/sessions?q=repo:tidewatch"),
    *("/cost?range=all&by=model", "/cost?range=all&by=outcome", "/work?all=1", "/learn?noise=1"),
    *("/patterns", "/errors?q=AssertionError", SESSION, f"{SESSION}/rows/0", f"{SESSION}/turns"),
    *(f"{SESSION}/strip", f"{SESSION}/map?by=cost", f"{SESSION}/changes", f"{SESSION}/digest"),
    *(f"{SESSION}/cost", f"{SESSION}/family", f"{SESSION}/like", f"{SESSION}/find?q=tide"),
    *(f"{SESSION}/stretch?from=2&to=30", "/s/7ac31f58/map", "/compare?a=91d4f0a7&b=e83b5c60"),
    *(f"{SESSION}/e/30/inspect", f"{SESSION}/e/29/inspect", f"{SESSION}/e/30/body"),
    *("/api/v1/sessions", "/api/v1/cost", "/api/v1/stats", f"/api/v1/sessions{SESSION[2:]}/events"),
)
PARTS = (
    *(("/sessions?q=tide", "days"), ("/cost?range=all", "detours"), ("/", "lessons")),
    *(("/", "money"), ("/", "patterns"), (f"{SESSION}/stretch?from=0", "stretch")),
)


@pytest.mark.only("postgresql")
def test_the_pages_are_the_same(stores: Stores, client_of: Client, demo_store: Path) -> None:
    def copy_to(place: str) -> None:
        with open_store(demo_store) as demo, open_store(place) as copy:
            copy_everything(demo, copy)
            ensure_index(copy)

    assert isinstance(stores, PostgresStores)
    server, file = client_of(stores.filled_place("web", "web", copy_to)), client_of(demo_store)
    for path, part in [*((path, "") for path in PAGES), *PARTS]:
        answers = [client.get(path, headers={"X-Part": part}) for client in (server, file)]
        assert [answer.status_code for answer in answers] == [200, 200], path
        # Where the store is, and how old a figure is, may differ.
        texts = [re.sub(r"\d+ (min|h) ago|just now", "ago", answer.text) for answer in answers]
        assert texts[0] == texts[1], path
