"""The pages show what the command line says, in parts, and to the character."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, quote

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.store.digests import Digests
from session_memory.testing.collecting import collected
from session_memory.views.detour_costs import detour_costs
from session_memory.views.hit_days import hit_days
from session_memory.views.outline import SECTION
from session_memory.views.spending_days import spending_days

from .conftest import Client

DATA = Path(__file__).parent.parent / "data"


def test_hits_by_day_are_those_of_the_search(client: TestClient, memory: Memory) -> None:
    found = hit_days(memory.store, "tide", now=1)
    assert found.is_all and found.total == memory.search("tide", limit=0).total
    assert sum(found.days.values()) == found.total
    days = client.get("/sessions?q=tide", headers={"X-Part": "days"}).text
    assert "<html" not in days and "Hits by day" in days
    bars = re.findall(r'href="([^"]*)"><g><title>[^<]*: (\d+)</title>', days)
    assert sum(int(count) for _, count in bars) == found.total
    for address, count in bars:
        text = parse_qs(address.replace("&amp;", "&").partition("?")[2])["q"][0]
        assert memory.search(text, limit=0).total == int(count)


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
    listed = list(memory.sessions(folded=True, sort=sort))
    if sort == "cost":
        # A row shows the cost with subagents.
        listed.sort(key=lambda one: -one.cost_with_subagents.microdollars)
    expected = [one.uid for one in listed]
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


@pytest.mark.parametrize("query", ["tide", "tests", "tide repo:tidewatch", "error class:output"])
def test_facets_of_a_search_count_the_sessions_with_hits(client: TestClient, query: str) -> None:
    page = client.get("/sessions", params={"q": query}).text
    # The link of a chosen value takes its filter away, so only the others list what they count.
    choices = re.findall(r'<li><a href="(/sessions[^"]*)".*?<span class="n">(\d+)</span>', page)
    counted = 0
    for address, number in choices:
        shown = client.get(address.replace("&amp;", "&")).text
        said = re.search(r">(\d+) hits? in (\d+) session", shown)
        if said is not None:  # Of more than 60 hits, a page shows the best.
            is_class = "class%3A" in address and "class:" not in query
            assert said[1 if is_class else 2] == number, address
            counted += 1
    assert counted


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


@pytest.mark.parametrize("split", ["model", "repo", "agent", "outcome"])
def test_spending_is_that_of_the_cost_report_in_every_division(memory: Memory, split: str) -> None:
    report = memory.cost(by="day")
    found = spending_days(memory.store, split=split, since=None, until=None)
    by_day = {row.key: row.tally.microdollars for row in report.rows if row.key}
    assert {str(one.day): one.microdollars for one in found.days} == by_day
    assert found.totals == report.totals
    assert sum(found.made_of.values()) == report.totals.microdollars


def test_the_cost_page_shows_the_figures_of_the_command_line(
    client: TestClient, memory: Memory
) -> None:
    page = client.get("/cost?range=all").text
    assert money(memory.cost().totals.amount) in page
    for row in memory.cost(by="repo").rows[:5]:
        assert money(row.tally.amount) in page
    assert client.get("/cost?range=week").status_code == 400


def test_detours_say_what_problems_cost_and_whether_it_was_measured(
    client: TestClient, memory: Memory
) -> None:
    found = detour_costs(memory.store, None, None)
    problems = [row for row in Digests(memory.store.db).signals() if row.polarity == "problem"]
    total = sum(row.microdollars for row in problems)
    assert sum(row.microdollars for row in found) == total > 0
    page = client.get("/cost?range=all", headers={"X-Part": "detours"}).text
    for row in found:
        assert row.title in page and money(Amount(row.microdollars)) in page
        assert row.basis in ("measured", "estimated")
    assert detour_costs(memory.store, 0, 1) == []


@pytest.mark.parametrize("tab", ["changes", "digest", "cost", "family", "like"])
def test_every_session_has_all_its_pages(client: TestClient, memory: Memory, tab: str) -> None:
    for one in memory.sessions():
        answer = client.get(f"/s/{one.uid}/{tab}")
        assert answer.status_code == 200, one.uid
        assert 'aria-current="page"' in answer.text


def test_the_family_page_adds_up(client: TestClient, memory: Memory) -> None:
    for one in memory.sessions():
        tree = one.family()
        page = client.get(f"/s/{one.uid}/family").text
        assert page.count("/s/") >= len(tree.root.every())
        assert money(tree.amount) in page


def test_a_record_is_shown_as_it_was_written(client: TestClient, memory: Memory) -> None:
    one = next(iter(memory.sessions()))
    event = next(event for event in one.events if event.native_id)
    assert event.native_id in client.get(f"/s/{one.uid}/raw/{event.event_uid}").text


def test_the_start_page_has_its_slow_parts_apart(client: TestClient) -> None:
    page = client.get("/").text
    assert "Cost by outcome" in page and "Logs that will be deleted" in page
    for part in ("money", "patterns"):
        answer = client.get("/", headers={"X-Part": part}).text
        assert "<html" not in answer and "<h2>" in answer


@pytest.mark.parametrize("by", ["time", "cost", "event"])
def test_every_session_has_a_map(client: TestClient, memory: Memory, by: str) -> None:
    for one in memory.sessions():
        for path in ("map", "strip"):
            answer = client.get(f"/s/{one.uid}/{path}?by={by}")
            assert answer.status_code == 200
            assert "<svg" in answer.text
            assert len(answer.content) < 200_000


def test_the_places_of_a_map_go_forward(client: TestClient, memory: Memory) -> None:
    for one in memory.sessions():
        found = re.search(r'data-points="([^"]*)"', client.get(f"/s/{one.uid}/strip").text)
        assert found is not None
        points = json.loads(found[1].replace("&#34;", '"'))
        assert points == sorted(points) and [seq for _, seq in points] == sorted(
            seq for _, seq in points
        )


@pytest.mark.parametrize("agent", ["codex", "grok"])
def test_every_event_of_other_agents_has_its_page(
    client_of: Client, tmp_path: Path, agent: str
) -> None:
    """Their ids are made of places, and contain slashes."""
    store = tmp_path / "memory.db"
    collected(DATA / agent, store).close()
    client, asked = client_of(store), 0
    with Memory(str(store), create=False) as memory:
        for one in memory.sessions(limit=3):
            events = [item for item in one.transcript(children=False) if hasattr(item, "event")]
            for item in events[:: max(len(events) // 8, 1)]:
                path = f"/s/{quote(one.uid)}/e/{quote(item.event.event_uid, safe='')}"
                assert f'data-chosen="{item.seq}"' in client.get(path).text
                for part in ("inspect", "body"):
                    assert client.get(f"{path}/{part}").status_code == 200
                asked += 1
    assert asked > 5
