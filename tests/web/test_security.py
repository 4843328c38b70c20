"""Nobody but the person with the token gets an answer, and no page can be made to run anything."""

import re
import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.config import Config
from session_memory.core.errors import ConfigError
from session_memory.web.routes import ROUTES
from session_memory.web.security import HEADERS, METHODS
from session_memory.web.serving import WebServer

from .conftest import HERE, PORT, TOKEN, Client

EVERY = [route.path for route in ROUTES] + ["/events", "/no/such/page"]


def address(path: str, uid: str = "claude:none", event: str = "none:0") -> str:
    for name, value in {"uid": uid, "event": event, "number": "0", "id": "x"}.items():
        path = path.replace("{" + name + "}", value).replace("{" + name + ":path}", value)
    assert "{" not in path
    return path


def test_every_route_needs_the_token(client_of: Client, demo_store: Path) -> None:
    stranger = client_of(demo_store, cookies=False)
    for path in EVERY:
        assert stranger.get(address(path)).status_code == 403, path
    stranger.cookies.set(f"session-memory-{PORT}", "wrong")
    for path in EVERY:
        answer = stranger.get(address(path))
        assert answer.status_code == 403, path
        assert "Session Memory" not in answer.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", f"localhost.:{PORT}"],
)
def test_every_route_refuses_another_host(client: TestClient, host: str) -> None:
    for path in EVERY:
        assert client.get(address(path), headers={"Host": host}).status_code == 421, path


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_our_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/sessions", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", [path for path in EVERY if path != "/events"])
def test_every_answer_has_all_headers_and_forbids_other_origins(
    client: TestClient, path: str
) -> None:
    answer = client.get(address(path), headers={"Origin": "https://evil.example"})
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["Cache-Control"] in ("no-store", "private, no-cache")
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    for path in EVERY:
        answer = client.request(method, address(path))
        assert answer.status_code == 405, path
        assert answer.headers["Allow"] == ", ".join(METHODS)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": HERE},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
        {"Origin": f"https://127.0.0.1:{PORT}", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_a_form_of_another_page_changes_nothing(
    client: TestClient, headers: dict[str, str]
) -> None:
    for path in EVERY:
        assert client.post(address(path), headers=headers).status_code == 403, path


def test_the_token_in_the_address_becomes_a_cookie(client_of: Client, demo_store: Path) -> None:
    fresh = client_of(demo_store, cookies=False)
    answer = fresh.get(f"/sessions?q=a+b&t={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/sessions?q=a+b"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert fresh.get("/sessions").status_code == 200
    assert fresh.get("/?t=wrong").status_code == 403


def test_the_redirect_never_leads_to_another_host(client_of: Client, demo_store: Path) -> None:
    fresh = client_of(demo_store, cookies=False)
    for path in ("//evil.example/", "/\\evil.example", "//evil.example/%2e%2e"):
        answer = fresh.get(f"{HERE}{path}?t={TOKEN}")
        location = answer.headers.get("Location", "/")
        assert re.match(r"/(?![/\\])", location), location


def test_static_files_need_no_token_and_are_kept_for_ever(
    client_of: Client, demo_store: Path
) -> None:
    page = client_of(demo_store).get("/sessions").text
    stranger = client_of(demo_store, cookies=False)
    found = re.findall(r'"(/static/[^"]+)"', page)
    assert len(found) >= 3
    for name in found:
        answer = stranger.get(name)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
    for name in ("/static/x/app.css", "/static/../app.py", "/static/x/%2e%2e/%2e%2e/app.py"):
        assert stranger.get(name).status_code in (403, 404)


def test_only_one_module_makes_markup_and_one_script_makes_elements() -> None:
    import session_memory.web as web  # noqa: PLC0415

    room = Path(web.__file__).parent
    making = (
        "innerHTML",
        "insertAdjacentHTML",
        "outerHTML",
        "document.write",
        "eval(",
        "Function(",
    )
    for file in room.rglob("*.js"):
        if file.name != "swap.js":
            assert not [word for word in making if word in file.read_text()], file.name
    for file in room.rglob("*.html"):
        text = file.read_text()
        assert "|safe" not in text.replace(" ", "") and " style=" not in text, file.name
        assert not re.search(r"\son[a-z]+=|javascript:|https?://", text), file.name
        assert not re.search(r"<script(?![^>]* src=)", text), file.name


def test_the_printed_address_waits_for_the_server_and_is_taken(demo_store: Path) -> None:
    server = WebServer(lambda: Memory(str(demo_store), Config(), create=False))
    with socket.create_connection(("127.0.0.1", server.port), timeout=5):
        pass
    with pytest.raises(ConfigError, match="cannot be used"):
        WebServer(lambda: Memory(str(demo_store), Config(), create=False), port=server.port)
    server.stop()
    server.run()


def test_a_person_reads_why_there_is_no_answer(client: TestClient, client_of: Client) -> None:
    browser = {"Accept": "text/html"}
    stranger = client_of("unused", cookies=False)
    refused = stranger.get("/sessions", headers=browser)
    assert refused.status_code == 403 and "session-memory web" in refused.text
    missing = client.get("/nothing/here", headers=browser)
    assert missing.status_code == 404 and "There is no such page." in missing.text
    for page in (refused, missing):
        assert page.headers["Content-Type"].startswith("text/html")
        assert page.text.count("<h1") == 1 and "<style" not in page.text
    assert client.get("/nothing").headers["Content-Type"].startswith("text/plain")
