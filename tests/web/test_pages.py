"""The pages show what the command line says, in parts, and to the character."""

import json
import re

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.views.outline import SECTION


def rows_in(page: str) -> list[str]:
    return re.findall(r'data-uid="([^"]+)"', page)


def test_the_list_has_the_sessions_of_the_command_line(client: TestClient, memory: Memory) -> None:
    listed = [one.uid for one in memory.sessions(folded=True)]
    assert rows_in(client.get("/sessions").text) == listed[:50]


@pytest.mark.parametrize("sort", ["newest", "cost", "time", "tokens"])
def test_pages_together_are_the_whole_list(
    client: TestClient, memory: Memory, sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.views.session_pages.PAGE", 3)
    expected = [one.uid for one in memory.sessions(folded=True, sort=sort)]
    address, found = f"/sessions?sort={sort}", []
    while address:
        page = client.get(address, headers={"X-Part": "rows"}).text
        found += rows_in(page)
        following = re.search(r'href="([^"]+)" data-next', page)
        address = following[1].replace("&amp;", "&") if following else ""
        assert len(found) < 1000
    assert found == expected


def test_facets_count_the_rows_that_their_links_show(client: TestClient) -> None:
    page = client.get("/sessions").text
    choices = re.findall(r'<li><a href="(/sessions\?q=[^"]+)".*?<span class="n">(\d+)</span>', page)
    assert len(choices) > 4
    for address, number in choices:
        assert len(rows_in(client.get(address.replace("&amp;", "&")).text)) == int(number)


def test_a_search_finds_what_the_command_line_finds(client: TestClient, memory: Memory) -> None:
    results = memory.search("tide", limit=60)
    page = client.get("/sessions?q=tide").text
    assert f"{results.total:,} hits in" in page
    assert "<mark>" in page
    for group in results.sessions:
        assert f"/s/{group.session.uid}" in page
    assert "Nothing found" in client.get("/sessions?q=zzzqqq").text


def test_a_transcript_is_the_same_in_parts_and_whole(client: TestClient, memory: Memory) -> None:
    for one in memory.sessions():
        events = [
            item.event.event_uid
            for item in one.transcript(children=False, inherited=True)
            if type(item).__name__ == "TranscriptEvent"
        ]
        sections = (max(s for s, *_ in _places(memory, one.uid)) if events else 0) // SECTION + 1
        found = []
        for number in range(sections):
            page = client.get(f"/s/{one.uid}/rows/{number}").text
            found += re.findall(r'data-event="([^"]+)"', page)
        assert found == events


def _places(memory: Memory, uid: str) -> list[tuple[int, str]]:
    row = memory.store.sessions.row(uid)
    assert row is not None
    return [(seq, uid) for seq, _, _ in memory.store.events.between(row.id, uid, 0, 1 << 40)]


def test_a_deep_link_opens_at_its_event(client: TestClient, memory: Memory) -> None:
    one = max(memory.sessions(), key=lambda session: len(_places(memory, session.uid)))
    last = list(one.transcript(children=False))[-3]
    event = getattr(last, "event", None)
    assert event is not None
    page = client.get(f"/s/{one.uid}/e/{event.event_uid}").text
    assert f'data-chosen="{event.seq}"' in page
    assert f'data-event="{event.event_uid}"' in page
    assert client.get(f"/s/{one.uid}/e/no-such-event:0").status_code == 404


def test_the_outline_adds_up(client: TestClient, memory: Memory) -> None:
    for one in memory.sessions():
        outline = json.loads(client.get(f"/s/{one.uid}/outline").text)
        assert outline["microdollars"] == one.cost.microdollars
        assert sum(turn["microdollars"] for turn in outline["turns"]) == one.cost.microdollars
        assert len(outline["pieces"]) <= 400


def test_an_unchanged_part_is_not_sent_again(client: TestClient, memory: Memory) -> None:
    uid = next(iter(memory.sessions())).uid
    answer = client.get(f"/s/{uid}/rows/0")
    tag = answer.headers["ETag"]
    again = client.get(f"/s/{uid}/rows/0", headers={"If-None-Match": tag})
    assert again.status_code == 304 and not again.content


def test_every_event_can_be_inspected_and_read_whole(client: TestClient, memory: Memory) -> None:
    one = next(iter(memory.sessions()))
    for item in one.transcript(children=False):
        event = getattr(item, "event", None)
        if event is None:
            continue
        path = f"/s/{one.uid}/e/{event.event_uid}"
        assert client.get(f"{path}/inspect").status_code == 200
        assert client.get(f"{path}/body").status_code == 200


@pytest.mark.parametrize(
    "path", ["/s/none", "/s/none/rows/0", "/s/none/outline", "/s/none/turns", "/nothing"]
)
def test_what_is_not_there_is_said(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
