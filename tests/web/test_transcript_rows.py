"""The rows of a transcript and the inspector, without a browser."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from reading.hostile import collected, hostile_home
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.config import Config
from session_memory.learn.analyze import analyze
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call, text
from session_memory.views.cost_audit import audit, response_near
from session_memory.web.security import HEADERS

from .conftest import Client

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()
# What a row and the inspector are made of.
SAID = (
    "b blockquote br code del em h4 h5 h6 hr i li ol p pre s span strong table tbody td th thead tr"
)
FRAMED = "ul a article button circle dd details div dl dt h2 polyline section summary svg"
OUR_ELEMENTS = {*SAID.split(), *FRAMED.split()}
HTML = base64.b64encode(b"<script>alert(1)</script>").decode()


def picture(data: str, kind: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image", "source": source}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rows")
    home = ClaudeHome(place / "home")
    log = home.session("aaaaaaaa", slug="rows")
    log.prompt([text("Why does this look odd?"), picture(PNG), picture(HTML), picture("%%%")])
    log.prompt(
        [text("elsewhere"), {"type": "image", "source": {"type": "url", "url": "http://x/y"}}]
    )
    log.answer(text("Like so:\n\n```python\ndef f():\n    return '<b>'\n```"))
    for number, failed in enumerate((True, True, False)):
        edit = {"file_path": "/w/a.py", "old_string": "a = json()", "new_string": "a = body()"}
        if number:
            log.answer(call("Edit", f"edit{number}", **edit))
            log.result("done")
        log.answer(call("Bash", f"run{number}", command="pytest -q tests"))
        said = "E   AssertionError: tide is high" if failed else "\x1b[32m3 passed\x1b[0m"
        log.result(said + "\nline" * 30, is_error=failed)
    home.write()
    collected(home.path, place / "memory.db")
    with open_store(place / "memory.db") as opened:
        analyze(opened)
    return place / "memory.db"


@pytest.fixture
def client(client_of: Client, store: Path) -> TestClient:
    return client_of(store)


def test_code_changed_words_and_colours_have_classes(client: TestClient) -> None:
    page = client.get("/s/aaaaaaaa").text
    assert '<span class="hk">def</span> <span class="hf">f</span>()' in page
    assert "a = <em>json</em>()" in page and "a = <em>body</em>()" in page
    assert '<span class="ansi-g">3 passed</span>' in page
    assert "23 more lines" in page


def test_pictures_come_from_the_log_with_the_type_of_their_bytes(
    client: TestClient, store: Path
) -> None:
    page = client.get("/s/aaaaaaaa").text
    addresses = re.findall(r'href="([^"]+/image/\d+)" data-image', page)
    assert len(addresses) == 3 and "<img" not in page
    shown = client.get(addresses[0])
    assert shown.status_code == 200
    assert shown.headers["Content-Type"] == "image/png"
    assert shown.headers["Content-Disposition"].startswith("inline; filename=")
    assert shown.headers["X-Content-Type-Options"] == HEADERS["X-Content-Type-Options"]
    assert shown.content == base64.b64decode(PNG)
    # It says that it is a picture, but its bytes are something else.
    for address in addresses[1:]:
        refused = client.get(address)
        assert refused.status_code == 404 and b"alert" not in refused.content
    first = addresses[0].rpartition("/")[0]
    assert client.get(f"{first}/99").status_code == 404
    assert client.get(f"{first}/{'9' * 40}").status_code == 404


def test_the_inspector_says_when_the_same_failed_and_passed(
    client: TestClient, store: Path
) -> None:
    with Memory(str(store), Config(), create=False) as memory:
        events = [e for e in memory.session("aaaaaaaa").events if e.tool == "Bash"]
    calls = [e.seq for e in events if e.is_a("tool_call")]
    results = [e.seq for e in events if e.is_a("tool_result")]
    for seq in (calls[1], results[1]):
        shown = client.get(f"/s/aaaaaaaa/e/{seq}/inspect").text
        assert "Try 2 of 3 of the same call." in shown
        assert f'data-goto="{calls[0]}"' in shown and f'data-goto="{calls[2]}"' in shown
        assert "after 1 edit." in shown
    assert "Try" not in client.get("/s/aaaaaaaa/e/0/inspect").text


def test_every_event_can_be_inspected(client: TestClient, store: Path) -> None:
    with Memory(str(store), Config(), create=False) as memory:
        seqs = [event.seq for event in memory.session("aaaaaaaa").events]
    for seq in seqs:
        assert client.get(f"/s/aaaaaaaa/e/{seq}/inspect").status_code == 200
    for seq in (max(seqs) + 1, "x", "-1"):
        assert client.get(f"/s/aaaaaaaa/e/{seq}/inspect").status_code == 404


def test_rows_of_a_subagent_have_no_ids_and_lead_on(client: TestClient) -> None:
    inside = client.get("/s/aaaaaaaa/rows/0?inside=1").text
    assert 'id="e' not in inside and "<article" in inside
    assert 'id="e0"' in client.get("/s/aaaaaaaa/rows/0").text


def test_nothing_of_a_hostile_session_becomes_markup(client_of: Client, tmp_path: Path) -> None:
    hostile_home(tmp_path / "home")
    collected(tmp_path / "home", tmp_path / "memory.db")
    with open_store(tmp_path / "memory.db") as opened:
        analyze(opened)
    client = client_of(tmp_path / "memory.db")
    with Memory(str(tmp_path / "memory.db"), Config(), create=False) as memory:
        seqs = [event.seq for event in memory.session("evil0000").events]
    answers = [client.get(f"/s/evil0000/e/{seq}/inspect") for seq in seqs]
    answers += [client.get(f"/s/evil0000/rows/{n}?depth=full") for n in range(max(seqs) // 50 + 1)]
    for answer in answers:
        assert answer.status_code == 200
        names = set(re.findall(r"<([a-zA-Z!?][\w:-]*)", answer.text))
        assert names <= OUR_ELEMENTS, names - OUR_ELEMENTS
        assert not re.search(r"<[^>]*\s(on\w+|style|srcdoc)=", answer.text)
        assert "\u202e" not in answer.text and "\x1b" not in answer.text


def test_the_response_of_an_event_is_priced_as_in_the_audit(memory: Memory) -> None:
    """One response is found without pricing the others."""
    for one in memory.sessions():
        records = [r for r in audit(memory.store, one.uid).records if r.usage.seq is not None]
        for seq in range(0, 40, 3):
            after = [r for r in records if (r.usage.seq or 0) >= seq]
            before = [r for r in records if (r.usage.seq or 0) < seq]
            assert response_near(memory.store, one.uid, seq) == (after[0] if after else None)
            last = response_near(memory.store, one.uid, seq, is_before=True)
            assert last == (before[-1] if before else None)
