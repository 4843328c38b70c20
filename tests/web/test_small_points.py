"""Small points of single pages: what is about to vanish, compactions, models without a price."""

import asyncio
import html
import logging
import os
import re
import time
from pathlib import Path

import pytest
from retain.keeping import Keeper, talk

from session_memory import Memory
from session_memory.config import Config
from session_memory.learn.analyze import analyze
from session_memory.learn.digest.values import SessionOutcome
from session_memory.testing.claude import ClaudeHome, text, usage
from session_memory.testing.collecting import collected
from session_memory.views.outcome_reasons import reason_words
from session_memory.web.kept_values import KeptValues
from session_memory.web.markup import answer, with_session_links
from session_memory.web.quiet_server import is_worth_telling
from session_memory.web.rows import event_address, session_address

from .conftest import Client

pytestmark = pytest.mark.only("sqlite")

DAY_S = 86_400


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeHome:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return ClaudeHome(tmp_path / "home")


def stored(home: ClaudeHome, place: Path) -> Path:
    home.write()
    collected(home.path, place / "memory.db")
    return place / "memory.db"


def write_old(home: ClaudeHome) -> None:
    """Claude Code deletes logs after thirty days."""
    home.write()
    old = round(time.time()) // DAY_S * DAY_S - 26 * DAY_S
    for log in home.path.rglob("*.jsonl"):
        os.utime(log, times=(old, old))


def test_what_is_about_to_vanish_is_red_only_if_it_is_not_kept(
    home: ClaudeHome, client_of: Client, tmp_path: Path
) -> None:
    home.session("kept").prompt("go")
    write_old(home)
    store = tmp_path / "memory.db"
    with Memory(str(store), Config()) as memory:
        memory.sync()
    page = client_of(store).get("/").text
    assert "all kept" in page and 'class="vbig bad"' not in page
    home.session("new").prompt("go on")
    write_old(home)
    page = client_of(store).get("/").text
    assert 'class="vbig bad"' in page and "1 not kept yet" in page


def test_a_compaction_is_a_band_with_its_sizes(
    home: ClaudeHome, client_of: Client, tmp_path: Path
) -> None:
    log = home.session("aaaaaaaa")
    log.prompt("go")
    log.answer(text("first"), used=usage(50, write=20_000))
    log.note("system", subtype="compact_boundary", content="Conversation compacted")
    log.answer(text("second"), used=usage(50, write=2_000))
    page = client_of(stored(home, tmp_path)).get("/s/aaaaaaaa").text
    assert re.search(r"Compacted here: 20[.,\d]*k? tokens became 2[.,\d]*k?\.", page)
    assert page.index("first") < page.index("Compacted here") < page.index("second")


def test_models_without_a_price_stand_apart(
    home: ClaudeHome, client_of: Client, tmp_path: Path
) -> None:
    log = home.session("aaaaaaaa")
    log.prompt("go")
    log.answer(text("done"), used=usage(1_234), model="unheard-of-9")
    page = client_of(stored(home, tmp_path)).get("/cost?range=all").text
    found = re.search(r"unheard-of-9: ([\d,]+) tokens have no price", page)
    assert found is not None and int(found[1].replace(",", "")) >= 1_234


def test_a_session_whose_archive_is_gone_says_so_and_what_to_do(
    client_of: Client, tmp_path: Path
) -> None:
    keeper = Keeper(tmp_path, str(tmp_path / "memory.db"))
    talk(keeper.claude.session("away"), "plum", "pear")
    keeper.collect()
    event = keeper.store.events.of(1, "claude:away")[0].event_uid
    keeper.evict("claude:away")
    keeper.close()
    client = client_of(keeper.place, config=keeper.config)
    assert "plum!" in client.get("/s/away").text
    assert "plum" in client.get(f"/s/away/raw/{event}").text, "the record is in the archive"
    keeper.archive.rename(tmp_path / "elsewhere")
    client = client_of(keeper.place, config=keeper.config)
    answer = client.get("/s/away")
    assert answer.status_code == 200
    assert "its archive cannot be read" in answer.text and "plum!" not in answer.text
    parts = ("changes", "digest", "cost", "family", "like", "map", "outline", "rows/0", "turns")
    for part in (*parts, f"raw/{event}", f"e/{event}", "find?q=pear"):
        assert client.get(f"/s/away/{part}").status_code in (200, 404, 503), part


def test_agents_without_logs_are_named(client_of: Client, home: ClaudeHome, tmp_path: Path) -> None:
    home.session("one").prompt("go")
    page = client_of(stored(home, tmp_path)).get("/keep").text
    assert re.search(r"No logs of .*codex", page)


def test_a_store_without_new_sessions_shows_its_last_weeks(
    client_of: Client, claude: ClaudeHome, tmp_path: Path
) -> None:
    """The start page and the retrospective are not empty when the last session is months old."""
    log = claude.session("old")
    log.prompt("go", timestamp="2026-03-01T10:00:00.000Z")
    log.answer(text("done"), timestamp="2026-03-01T10:01:00.000Z")
    with collected(claude.write(), tmp_path / "memory.db") as store:
        analyze(store)
    client = client_of(tmp_path / "memory.db")
    page = client.get("/").text
    assert "No sessions today" in page and "The last session ended on 1 Mar 2026" in page
    assert "Latest sessions" in page and "/s/claude:old" in page
    money = client.get("/", headers={"X-Part": "money"}).text
    assert "eight weeks until 1 Mar 2026" in money and "<svg" in money
    retro = client.get("/retro").text
    assert "No session was analyzed in this time" in retro
    address = re.search(r'href="(/retro\?days=7&amp;until=2026-03-01)"', retro)
    assert address is not None
    told = client.get(html.unescape(address[1])).text
    assert "Retrospective 2026-02-23 to 2026-03-01" in told
    assert 'href="/s/claude:old"><code>session-memory show claude:old</code></a>' in told
    assert client.get("/retro?until=x").status_code == 400
    work = client.get("/work").text
    assert "No session in this period" in work and 'href="/work?all=1"' in work
    assert "0.00 s" not in work


def test_the_outcome_says_what_decided_it(client_of: Client, demo_store: Path) -> None:
    client = client_of(demo_store)
    with Memory(str(demo_store), Config(), create=False) as memory:
        for one in memory.sessions():
            page = client.get(f"/s/{one.uid}").text
            digest = one.digest().digest
            chip = re.search(r'class="chip[^"]*"(?: href="([^"]+)")?[^>]*>([^<]+)</', page)
            assert chip is not None
            assert chip[2].startswith(f"{digest.outcome.outcome} · ")
            assert "_" not in chip[2]
            if digest.outcome.evidence:
                assert client.get(html.unescape(chip[1])).status_code == 200


def test_every_reason_of_an_outcome_has_words() -> None:
    reasons = re.findall(r"``(\w+)``", SessionOutcome.__doc__ or "")
    outcomes = {"success", "fail", "abandoned", "continued", "unknown", "outcome", "reason"}
    named = set(reasons) - outcomes
    assert "gave_up" in named
    assert all(reason_words("fail", reason) != reason for reason in named)
    assert (reason_words("success", "tests"), reason_words("fail", "tests")) == (
        "tests passed",
        "tests failed",
    )


@pytest.mark.parametrize(
    ("module", "path", "part"),
    [
        ("keep", "/keep", "checks"),
        ("learn", "/retro?days=30&until=2026-11-13", "told"),
    ],
)
def test_slow_parts_of_a_large_store_come_apart(
    client_of: Client,
    demo_store: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    path: str,
    part: str,
) -> None:
    """The page has an address for the part, and the part is what a small store shows at once."""
    whole = client_of(demo_store).get(path).text
    monkeypatch.setattr(f"session_memory.web.pages.{module}.MANY_SESSIONS", 0)
    client = client_of(demo_store)
    page = client.get(path).text
    found = re.search(rf'data-part="([^"]+)" data-block="{part}"', page)
    assert found is not None and len(page) < len(whole)
    address = html.unescape(found[1])
    shown = client.get(address, headers={"X-Part": part}).text.strip()
    assert len(shown) > 200 and shown in whole
    without_script = re.findall(r'<noscript><a class="link" href="([^"]+)"', page)
    assert any(shown in client.get(html.unescape(one)).text for one in without_script)


def test_dear_sessions_say_what_made_them_expensive(
    client_of: Client, demo_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words are those of the sentence on the map of the session. They come after the page."""
    client = client_of(demo_store)
    page = client.get("/cost?range=all").text
    dearest = re.findall(r'<a class="row" href="(/s/[^"]+)"', page)
    part = client.get("/cost?range=all", headers={"X-Part": "dearest"}).text
    rows = re.findall(r'class="row" href="(/s/[^"]+)".*?<td class="hide soft why">(.*?)</td>', part)
    assert dearest == [address for address, _ in rows] and len(rows) > 3
    for address, why in rows:
        what, _, cost = re.sub("<[^>]*>", "", why).rpartition(": ")
        sentence = client.get(f"{address}/map").text.partition('<h2 class="lead gap">')[2]
        assert f"% of it was {what.partition(',')[0]}" in sentence
        assert f"{cost}.</span>" in sentence
    monkeypatch.setattr("session_memory.web.cost_causes.MOST_EVENTS", 1)
    other = client_of(demo_store).get("/cost?range=all", headers={"X-Part": "dearest"}).text
    assert "% of it" not in other and 'class="hide soft why"></td>' in other


def test_the_dearest_sessions_of_a_large_store_come_apart(
    client_of: Client, demo_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.web.pages.cost.MANY_SESSIONS", 0)
    page = client_of(demo_store).get("/cost?range=all").text
    assert 'class="hide soft why"' not in page and 'data-block="dearest"' in page
    whole = re.search(r'<noscript><a class="link" href="([^"]+now=1)"', page)
    assert whole is not None
    shown = client_of(demo_store).get(html.unescape(whole[1])).text
    assert len(re.findall('class="hide soft why">[^<]*<a ', shown)) > 3


def test_a_count_is_kept_until_somebody_writes() -> None:
    values, made = KeptValues(), list[int]()

    def make() -> int:
        made.append(1)
        return len(made)

    assert [values.get("n", mark, make) for mark in ("a", "a", "b", "b", "a")] == [1, 1, 2, 2, 3]
    assert values.get("other", "a", make) == 4


def test_months_without_spending_have_their_place(
    client_of: Client, claude: ClaudeHome, tmp_path: Path
) -> None:
    for name, day in (("old", "2024-11-03"), ("new", "2026-02-03")):
        claude.session(name).answer(text("done"), timestamp=f"{day}T10:00:00.000Z")
    with collected(claude.write(), tmp_path / "memory.db"):
        pass
    page = client_of(tmp_path / "memory.db").get("/cost?range=all").text
    titles = re.findall(r"<title>(\d{4}-\d\d): ([^<]+)</title>", page)
    assert [month for month, _ in titles][:3] == ["2024-11", "2024-12", "2025-01"]
    assert len(titles) == 16
    assert [spent == "nothing" for _, spent in titles] == [False, *[True] * 14, False]


def test_only_requests_that_end_with_the_server_are_not_told() -> None:
    def line(words: str, error: type[BaseException] | None = None) -> logging.LogRecord:
        caught = None if error is None else (error, error(), None)
        return logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, words, (), caught)

    stack = "Exception in ASGI application\n"
    assert not is_worth_telling(line(stack, asyncio.CancelledError))
    assert not is_worth_telling(
        line("Cancel %s running task(s), timeout graceful shutdown exceeded")
    )
    assert is_worth_telling(line(stack, ValueError)) and is_worth_telling(line("bind failed"))


def test_edited_files_are_named_below_their_repository(client_of: Client, demo_store: Path) -> None:
    with Memory(str(demo_store), Config(), create=False) as memory:
        rows = memory.stats("files").sections["files"].rows
    page = client_of(demo_store).get("/work?all=1").text
    named = dict(re.findall(r'title="([^"]+)">([^<]+)<br><span class="sub">', page))
    assert len(named) > 3 and set(named) <= {row.path for row in rows}
    assert any(
        not name.startswith("/") and path.endswith(f"/{name}") for path, name in named.items()
    )


def test_the_evidence_of_a_retrospective_is_a_link_to_its_event(
    client_of: Client, claude: ClaudeHome, tmp_path: Path
) -> None:
    for number in range(3):
        log = claude.session(f"s{number}")
        log.prompt("run it")
        for _ in range(4):
            log.run("make all", "make: *** No rule to make target 'all'.  Stop.", exit_code=2)
    with collected(claude.write(), tmp_path / "memory.db") as store:
        analyze(store)
    client = client_of(tmp_path / "memory.db")
    last = re.search(r'href="(/retro\?days=7&amp;until=[^"]+)"', client.get("/retro").text)
    assert last is not None
    page = client.get(html.unescape(last[1])).text
    shown = r'href="(/s/claude:s\d/e/[^"]+)"><code>session-memory show claude:s\d --around '
    address = re.search(shown, page)
    assert address is not None
    event = client.get(html.unescape(address[1]))
    assert event.status_code == 200 and "No rule to make target" in event.text


def test_an_event_id_that_is_no_plain_word_gets_no_link() -> None:
    given = (
        "`session-memory show claude:a --around 'x y'` `session-memory show claude:b --around e:0`"
    )
    page = with_session_links(answer(given), session_address, event_address)
    assert page.count("<a ") == 1 and 'href="/s/claude:b/e/e:0"' in page
