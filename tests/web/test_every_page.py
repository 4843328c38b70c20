"""Every page of the table of routes answers: on a store with sessions, and on an empty one."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.store import open_store
from session_memory.web.routes import ROUTES
from session_memory.web.site import PLACES

from .conftest import HERE, Client

PLAIN = [
    route.path
    for route in ROUTES
    if "{" not in route.path and "GET" in route.methods and not route.path.startswith("/api/")
]


@pytest.mark.parametrize("path", PLAIN)
def test_it_has_a_title_and_one_heading(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    if answer.headers["Content-Type"].startswith("text/html"):
        assert answer.text.count("<h1") == 1
        assert re.search(r"<title>[^<]*Session Memory</title>", answer.text)
        assert "None" not in re.sub(r"<[^>]*>", " ", answer.text).split()


@pytest.mark.parametrize("path", PLAIN)
def test_an_empty_store_says_so(client_of: Client, tmp_path: Path, path: str) -> None:
    with open_store(tmp_path / "empty.db"):
        pass
    assert client_of(tmp_path / "empty.db").get(path).status_code == 200


def test_every_place_of_the_rail_is_a_page(client: TestClient) -> None:
    for place in PLACES:
        page = client.get(place.path).text
        assert f'href="{place.path}" aria-current="page"' in page


def test_every_pattern_has_a_page_with_its_sessions(client: TestClient, memory: Memory) -> None:
    listing = memory.patterns(noise=True)
    assert listing.patterns
    page = client.get("/learn?noise=1").text
    for one in listing.patterns[:20]:
        assert f"/patterns/{one.id}" in page
        assert one.session_uids[0] in client.get(f"/patterns/{one.id}").text


def test_the_theme_is_kept_by_the_browser(client: TestClient) -> None:
    ours = {"Origin": HERE, "Sec-Fetch-Site": "same-origin"}
    answer = client.post("/settings/theme", data={"theme": "dark"}, headers=ours)
    assert answer.status_code == 303
    assert 'data-theme="dark"' in client.get("/settings").text
    client.post("/settings/theme", data={"theme": ""}, headers=ours)
    assert "data-theme" not in client.get("/settings").text
    assert client.post("/settings/theme", data={"theme": "x"}, headers=ours).status_code == 400
    assert client.post("/settings/theme", content=b"a" * 100_000, headers=ours).status_code == 400


def test_every_link_of_our_pages_leads_somewhere(client: TestClient) -> None:
    """Two steps from the start page: no link of ours is dead."""
    seen: set[str] = set()
    waiting = ["/", *PLAIN]
    for step in range(2):
        found: set[str] = set()
        for path in waiting:
            if path in seen or path.startswith("/static"):
                continue
            seen.add(path)
            answer = client.get(path)
            assert answer.status_code == 200, path
            links = re.findall(r'href="(/[^"]*)"', answer.text)
            found.update(link.replace("&amp;", "&") for link in links)
        waiting = sorted(found - seen)[:: max(len(found) // 150, 1)] if step == 0 else []
    assert len(seen) > 40
