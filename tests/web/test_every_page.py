"""Every page of the table of routes answers: on a store with sessions, and on an empty one."""

import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.config import Config
from session_memory.core.schema import Session
from session_memory.core.time import now_ms, parse_time
from session_memory.learn import kept_patterns
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import collected
from session_memory.views.open_calls import waiting_call
from session_memory.views.outline import outline
from session_memory.views.pattern_courses import pattern_courses
from session_memory.web.map_axis import shared_axes
from session_memory.web.pages.compare import common_past, turn_pairs
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


def test_problems_are_counted_alike_on_both_pages(client: TestClient, memory: Memory) -> None:
    problems = memory.patterns(polarity="problem").total
    assert f"{problems} problems" in client.get("/", headers={"X-Part": "patterns"}).text
    assert f"{problems} problem" in client.get("/learn").text
    for one in memory.patterns(polarity="problem", limit=4).patterns:
        cost = money(Amount(one.microdollars)) if one.microdollars else ""
        assert cost in client.get("/", headers={"X-Part": "patterns"}).text
    listing = memory.patterns(noise=True).patterns
    courses = pattern_courses(memory.store, listing)
    assert courses and all(sum(courses[one.id]) == one.sessions for one in listing)
    assert "No lesson is in a file yet" in client.get("/", headers={"X-Part": "lessons"}).text


def test_the_sentence_of_today_counts_the_lists_that_it_opens(
    client_of: Client, claude: ClaudeHome, tmp_path: Path
) -> None:
    noon = datetime.now().astimezone().replace(hour=12, minute=0).astimezone(UTC)
    for number, moment in enumerate((noon, noon, noon - timedelta(days=2), noon + timedelta(2))):
        log = claude.session(f"day{number}")
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        log.prompt("go", timestamp=stamp)
    with collected(claude.write(), tmp_path / "memory.db"):
        pass
    client = client_of(tmp_path / "memory.db")
    sentence = re.search(r"<h1[^>]*>(.*?)</h1>", client.get("/").text, re.DOTALL)
    assert sentence is not None and "Two sessions today" in sentence[1]
    (address,) = re.findall(r'href="(/sessions[^"]*)"', sentence[1])
    assert len(re.findall("data-uid=", client.get(address.replace("&amp;", "&")).text)) == 2


def test_a_call_without_a_result_says_what_a_session_waits_for(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    for name, tool, argument in (
        ("busy", "Bash", {"command": "pytest -q"}),
        ("asks", "AskUserQuestion", {"questions": []}),
        ("done", "Bash", {"command": "ls"}),
    ):
        log = claude.session(name)
        log.prompt("go")
        log.answer(call(tool, "c1", **argument))
        if name == "done":
            log.result("here")
    with collected(claude.write(), tmp_path / "memory.db") as store:
        ended = {
            name: parse_time(store.sessions.get(f"claude:{name}").ended_at or "")  # type: ignore[union-attr]
            for name in ("busy", "asks", "done")
        }
        later = {name: at + 61_000 for name, at in ended.items()}
        busy = waiting_call(store, "claude:busy", later["busy"])
        assert busy is not None and (busy.tool, busy.for_person) == ("Bash", False)
        assert "pytest" in busy.summary
        asks = waiting_call(store, "claude:asks", later["asks"])
        assert asks is not None and asks.for_person
        assert waiting_call(store, "claude:done", later["done"]) is None
        assert waiting_call(store, "claude:busy", ended["busy"] + 1000) is None


OURS = {"Origin": HERE, "Sec-Fetch-Site": "same-origin"}


def posted(client: TestClient, path: str, **fields: str) -> Any:
    """Send one of our forms, with the token that our pages have."""
    token = re.search(r'name="token" value="([^"]+)"', client.get("/settings").text)
    assert token is not None
    return client.post(path, data={"token": token[1], **fields}, headers=OURS)


def test_a_form_without_its_token_changes_nothing(client: TestClient) -> None:
    for route in ROUTES:
        if "POST" in route.methods:
            path = route.path.replace("{uid:path}", "91d4f0a7").replace("{id}", "p-1")
            for token in ("", "wrong"):
                answer = client.post(path, data={"token": token}, headers=OURS)
                assert answer.status_code == 403, path


def test_a_session_is_pinned_and_unpinned(
    client_of: Client, demo_store: Path, tmp_path: Path
) -> None:
    shutil.copyfile(demo_store, tmp_path / "memory.db")
    client = client_of(tmp_path / "memory.db")
    with Memory(str(tmp_path / "memory.db"), create=False) as memory:
        uid = next(iter(memory.sessions())).uid
        for action, is_pinned in (("pin", True), ("unpin", False)):
            assert posted(client, f"/s/{uid}/{action}").status_code == 303
            assert memory.store.retention.is_pinned(uid, now_ms()) is is_pinned
            other = "/unpin" if is_pinned else "/pin"
            assert f'action="/s/{uid}{other}"' in client.get(f"/s/{uid}").text


def test_a_session_is_named_and_its_name_is_found(
    client_of: Client, demo_store: Path, tmp_path: Path
) -> None:
    shutil.copyfile(demo_store, tmp_path / "memory.db")
    client = client_of(tmp_path / "memory.db")
    with Memory(str(tmp_path / "memory.db"), create=False) as memory:
        uid = next(iter(memory.sessions())).uid
        assert posted(client, f"/s/{uid}/name", name="quarantine <b>").status_code == 303
        for path in (f"/s/{uid}", "/sessions", "/sessions?q=quarantine"):
            assert "quarantine &lt;b&gt;" in client.get(path).text.replace("</mark>", "")
        assert client.get(f"/api/v1/sessions/{uid}").json()["session"]["title"] == "quarantine <b>"
        assert posted(client, f"/s/{uid}/name", name="x" * 300).status_code == 400
        assert posted(client, f"/s/{uid}/name", name="").status_code == 303
        assert memory.session(uid).name is None


def test_a_pattern_is_accepted_and_rejected(
    client_of: Client, demo_store: Path, tmp_path: Path
) -> None:
    shutil.copyfile(demo_store, tmp_path / "memory.db")
    client = client_of(tmp_path / "memory.db")
    with Memory(str(tmp_path / "memory.db"), create=False) as memory:
        most = max(memory.patterns(noise=True).patterns, key=lambda one: one.sessions)
        answer = posted(client, f"/lessons/{most.id}/accept")
        if most.sessions >= memory.config.lessons.promote_sessions:
            assert answer.status_code == 303
            assert [row.lesson.status for row in memory.lessons().rows] == ["accepted"]
        else:
            assert answer.status_code == 400 and "session" in answer.text
        assert posted(client, f"/lessons/{most.id}/reject").status_code == 303
        assert [row.lesson.status for row in memory.lessons().rows] == ["rejected"]


def test_two_sessions_are_compared(client: TestClient, memory: Memory) -> None:
    uids = [one.uid for one in memory.sessions()][:2]
    page = client.get(f"/compare?a={uids[0]}&b={uids[1]}").text
    for uid in uids:
        assert f"/s/{uid}" in page
        assert money(memory.session(uid).cost_with_subagents) in page
    assert client.get("/compare?a=none&b=none").status_code == 404


def test_forks_are_joined_at_their_common_past(client: TestClient, memory: Memory) -> None:
    fork = next(one.record for one in memory.sessions() if one.record.relation == "fork")
    parent = memory.session(fork.parent_uid or "").record
    common = common_past(memory.store, [parent, fork])
    assert common is not None and common.ts is not None
    shared = {event.event_uid for event in memory.session(parent.session_uid).events}
    inherited = [event for _, event in memory.store.events.inherited(row_id(memory, fork))]
    assert common.number == len([event for event in inherited if event.event_uid in shared])
    outlines = [outline(memory.store, one.session_uid) for one in (parent, fork)]
    axes = shared_axes(outlines, [common.ts, common.ts])
    first, second = (axis.at(None, common.ts) for axis in axes)
    assert first is not None and second is not None and abs(first - second) < 0.1
    pairs = turn_pairs(outlines, common)
    past = [one["both"] for one in pairs if one["both"]]
    assert past and all(turn.seq <= common.seqs[0] for turn in past)
    turns = [turn for one in pairs for turn in (one["both"], *one["sides"]) if turn]
    assert len(turns) == sum(len(one.turns) for one in outlines)
    page = client.get(f"/compare?a={parent.session_uid}&b={fork.session_uid}").text
    assert page.count("the common past") == 3 and page.count('<svg class="wide"') == 2


def row_id(memory: Memory, session: Session) -> int:
    row = memory.store.sessions.row(session.session_uid)
    assert row is not None
    return row.id


def test_words_are_found_inside_of_a_session(client: TestClient, memory: Memory) -> None:
    one = next(one for one in memory.sessions() if "tide" in (one.title or "").lower())
    found = client.get(f"/s/{one.uid}/find?q=tide").json()
    expected = memory.search("tide", session=one.uid, limit=500)
    assert found["total"] == expected.total > 0
    assert [hit["seq"] for hit in found["hits"]] == sorted(
        hit.seq for hit in expected.hits if hit.seq is not None
    )


def test_the_theme_is_kept_by_the_browser(client: TestClient) -> None:
    answer = posted(client, "/settings/theme", theme="dark")
    assert answer.status_code == 303
    assert 'data-theme="dark"' in client.get("/settings").text
    posted(client, "/settings/theme", theme="")
    assert "data-theme" not in client.get("/settings").text
    assert posted(client, "/settings/theme", theme="x").status_code == 400
    assert client.post("/settings/theme", content=b"a" * 100_000, headers=OURS).status_code == 400


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


def test_a_page_of_many_sessions_shows_patterns_when_they_are_found(
    demo_store: Path, tmp_path: Path, client_of: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(str(demo_store), Config(), create=False) as memory:
        memory.backup(tmp_path / "memory.db")
        shown = memory.patterns(noise=True).patterns[0].id
    # Each client has a server of its own, so that no page comes from the cache of the other one.
    whole = client_of(tmp_path / "memory.db").get("/learn?noise=1").text
    client = client_of(tmp_path / "memory.db")
    monkeypatch.setattr(kept_patterns, "LEAST_SESSIONS", 0)
    waiting = client.get("/learn?noise=1").text
    assert shown in whole and shown not in waiting
    assert 'data-part="/learn?noise=1&amp;now=1" data-block="found"' in waiting
    # What the page fetches, and where its link leads without JavaScript.
    assert shown in client.get("/learn?noise=1&now=1", headers={"X-Part": "found"}).text
    assert client.get("/learn?noise=1").text == client.get("/learn?noise=1&now=1").text == whole


def test_lessons_of_many_sessions_are_suggested_when_they_are_found(
    demo_store: Path, tmp_path: Path, client_of: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(str(demo_store), Config(), create=False) as memory:
        memory.backup(tmp_path / "memory.db")
    whole = client_of(tmp_path / "memory.db").get("/lessons").text
    client = client_of(tmp_path / "memory.db")
    monkeypatch.setattr(kept_patterns, "LEAST_SESSIONS", 0)
    waiting = client.get("/lessons").text
    block = 'data-part="/lessons?now=1" data-block="suggested"'
    assert block in waiting and block not in whole
    fetched = client.get("/lessons?now=1", headers={"X-Part": "suggested"}).text
    assert "Suggested" in fetched and fetched.strip() in whole
    assert client.get("/lessons").text == client.get("/lessons?now=1").text == whole
