"""`Memory`: opening it, its sessions, and what it refuses."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from session_memory import Memory, SessionMemoryError, SessionStore, StoredSession
from session_memory.config import Config
from session_memory.core.errors import (
    ConfigError,
    InvalidRecord,
    StoreError,
    StoreNotFound,
    UnknownSession,
)
from session_memory.core.time import now_ms
from session_memory.demo import demo_home
from session_memory.memory.retention import DueRetention
from session_memory.render.json_text import to_json
from session_memory.store.sessions import CollectedSession

from .conftest import AskCli

# ---------------------------------------------------------------- opening


def test_it_opens_the_store_that_the_command_line_opens(
    home: Path, demo_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = home / ".session-memory" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'store = "{home}/configured.db"\n')
    with Memory() as memory:
        assert memory.place == str(home / "configured.db")
    monkeypatch.setenv("SESSION_MEMORY_STORE", "~/named.db")
    with Memory() as memory:
        assert memory.place == str(home / "named.db")
    with Memory.open(home / "given.db") as memory:
        assert memory.place == str(home / "given.db")


def test_a_store_that_must_exist_is_not_created(home: Path) -> None:
    with pytest.raises(StoreNotFound) as refused:
        Memory("~/nowhere.db", create=False)
    assert refused.value.hint and not (home / "nowhere.db").exists()


def test_a_closed_memory_says_so_and_can_be_closed_again(place: Path) -> None:
    memory = Memory()
    memory.close()
    memory.close()
    assert str(place) in repr(memory)
    for ask in (memory.sessions, memory.cost, memory.verify, lambda: memory.search("x")):
        with pytest.raises(StoreError, match="the memory is closed") as refused:
            ask()
        assert refused.value.hint


def test_a_configuration_file_that_does_not_exist_is_an_error(place: Path) -> None:
    with Memory(place, "~/nowhere.toml") as memory, pytest.raises(ConfigError, match="nowhere"):
        memory.cost()


def test_own_prices_and_budget_apply_as_on_the_command_line(
    place: Path, own_prices: Path, cli: AskCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own_prices.open("a") as file:
        file.write("[budget]\nmonth = 5\n")
    with Memory() as memory:
        assert memory.cost().to_dict() == cli("cost")
        assert memory.budget().state == cli("budget")["state"] == "over"
        dearest = memory.sessions(sort="cost", limit=1).first()
        assert dearest is not None and dearest.cost.dollars > 1
    with Memory(config=Config()) as plain:
        assert plain.cost().totals.microdollars < memory_total(place) // 10
    named = own_prices.with_name("other.toml")
    own_prices.rename(named)
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", str(named))
    assert memory_total(place) == cli("cost")["totals"]["microdollars"]
    with Memory(config=named) as memory:
        assert memory.cost().totals.microdollars == memory_total(place)


def memory_total(place: Path) -> int:
    with Memory(place) as memory:
        return memory.cost().totals.microdollars


def test_a_sync_reports_how_far_it_is(home: Path) -> None:
    seen: list[tuple[int, int]] = []
    with Memory(home / "memory.db") as memory:
        result = memory.sync([demo_home()], progress=lambda done, total: seen.append((done, total)))
    totals = {total for _, total in seen}
    assert len(totals) == 1 and seen[-1][0] == totals.pop() >= result.bytes
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and seen[0][0] == 0


def test_exclusions_and_domains_apply_to_a_sync(home: Path, cli: AskCli) -> None:
    file = home / "config.toml"
    file.write_text('[exclude]\nrepos = ["webshop"]\n[domains]\n"*" = "work"\n')
    with Memory(home / "one.db", file) as memory:
        memory.sync([demo_home()], host="here")
        domains = {session.record.domain for session in memory.sessions()}
        repos = {session.repo for session in memory.sessions()}
        listed = memory.sessions(sort="oldest").to_dict()["amounts"]
    assert "work" in domains and "webshop" not in repos
    store = ("--store", str(home / "two.db"), "--config", str(file))
    cli("sync", "--root", str(demo_home()), *store)
    assert cli("sessions", "--sort", "oldest", "--limit", "0", *store)["amounts"] == listed


# ---------------------------------------------------------------- sessions


def test_a_session_answers_to_a_beginning_of_its_id(place: Path) -> None:
    with Memory() as memory:
        first = memory.sessions(roots=True).first()
        assert first is not None
        assert memory.session(first.record.native_session_id[:12]).uid == first.uid
        with pytest.raises(UnknownSession) as refused:
            memory.session("claude:nothing-like-it")
        assert refused.value.hint


def test_a_session_has_its_events_texts_and_payloads(place: Path) -> None:
    with Memory() as memory:
        session = next(one for one in memory.sessions() if one.cost.tokens.turns > 1)
        events = list(session.events)
        assert [event.to_dict() for event in events] == session.to_dict()["events"]
        assert list(session.events) == events
        prompts = list(session.events.of_kind("user_msg"))
        assert prompts and all(session.text(event) for event in prompts)
        assert session.payload(prompts[0]).record
        assert [call.event for call in session.calls()] == [
            event for event in events if event.is_a("tool_call") and event.call_id
        ]
        items = list(session.transcript("user"))
        assert items == list(memory.session(session.uid).transcript("user"))


def test_the_cost_of_a_session_is_tokens_and_money(place: Path) -> None:
    with Memory() as memory:
        parent = next(one for one in memory.sessions() if one.children)
        whole = parent.cost_with_subagents
        shown = parent.to_dict()
        assert parent.cost.microdollars == shown["amount"]["microdollars"]
        assert whole.microdollars == shown["with_subagents"]["microdollars"]
        assert whole.tokens.output_tokens >= parent.cost.tokens.output_tokens
        assert parent.cost.dollars == Decimal(parent.cost.microdollars) / 1_000_000
        assert parent.cost.to_dict()["microdollars"] == parent.cost.microdollars
        for child in parent.children:
            assert isinstance(child, StoredSession)
            assert child.parent is not None and child.parent.uid == parent.uid


def test_a_session_without_a_title_has_a_name(place: Path) -> None:
    with Memory() as memory:
        memory.store.sessions.save(
            CollectedSession(uid="claude:x", flavor="claude", native_id="x", git_branch="red-door")
        )
        titles = {session.record.title: session.title for session in memory.sessions()}
        assert titles[None] == "on red-door" and all(titles.values())
        assert all(shown.endswith(title) for title, shown in titles.items() if title)


def test_times_may_be_texts_dates_and_moments(place: Path) -> None:
    with Memory() as memory:
        total = memory.sessions().count()
        assert total > 0
        for since in ("2020-01", date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), 1577836800000):
            assert memory.sessions(since=since).count() == total
            assert memory.sessions(until=since).count() == 0


def test_sessions_of_at_least_some_dollars(place: Path) -> None:
    with Memory() as memory:
        amounts = [one.cost.dollars for one in memory.sessions()]
        middle = sorted(amounts)[len(amounts) // 2]
        dear = list(memory.sessions(min_cost=middle))
        assert {one.uid for one in dear} == {
            one.uid for one in memory.sessions() if one.cost.dollars >= middle
        }
        assert 0 < len(dear) < len(amounts)
        listed = memory.sessions(min_cost=middle, limit=2)
        assert len(list(listed)) == len(listed.listing().sessions) == 2
        assert listed.count() == len(dear)


def test_sessions_are_read_when_they_are_asked_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory() as memory:
        read: list[str] = []
        each = memory.store.db.each

        def counted(sql: str, params: Any = None) -> Iterator[Any]:
            for row in each(sql, params):
                read.append(row[0])
                yield row

        monkeypatch.setattr(memory.store.db, "each", counted)
        query = memory.sessions(sort="oldest")
        assert read == []
        assert len(list(islice(memory.sessions(limit=3), 2))) == 2 and len(read) == 3
        # In a loop, anything can be asked of the same store.
        texts = [[session.text(event) for event in session.events] for session in query]
        assert len(texts) == query.count()


# ---------------------------------------------------------------- refusals


def test_what_does_not_exist_is_refused_with_the_choices(place: Path) -> None:
    with Memory() as memory:
        session = next(iter(memory.sessions()))
        for ask in (
            lambda: memory.sessions(sort="dearest"),
            lambda: memory.cost(by="year"),
            lambda: memory.stats("nothing"),
            lambda: memory.search("x", where="somewhere"),
            lambda: memory.files(sort="size"),
            lambda: memory.commands(state="bad"),
            lambda: memory.export("x", session.uid, format="pdf"),
            lambda: session.transcript("all"),
        ):
            with pytest.raises(InvalidRecord) as refused:
                ask()
            assert (refused.value.hint or "").startswith("Choose one of:")


def test_arguments_that_mean_nothing_are_refused(place: Path) -> None:
    with Memory() as memory:
        uid = next(iter(memory.sessions())).uid
        for ask in (
            lambda: memory.similar(),
            lambda: memory.sessions(limit=-1),
            lambda: memory.search("x", limit=-1),
            lambda: memory.stats(limit=-1),
            lambda: memory.sessions(since="2026-02", until="2026-01"),
            lambda: memory.cost(since="2026-02", until="2026-01"),
            lambda: memory.files(uid, repo="webshop"),
            lambda: memory.similar(uid, text="both"),
            lambda: memory.search(" "),
            lambda: memory.sessions(since="the other day"),
            lambda: memory.sessions(min_cost="a lot"),
            lambda: memory.export("x.html", format="html"),
        ):
            with pytest.raises(SessionMemoryError) as refused:
                ask()
            assert refused.value.hint


# ---------------------------------------------------------------- retention


def test_retention_applies_as_on_the_command_line(
    place: Path, home: Path, cli: AskCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "config.toml"
    file.write_text("[retention]\nraw_max_age_days = 1\narchive_small = true\n")
    with Memory(config=file) as memory:
        plan = memory.retain(dry_run=True)
        assert json.loads(to_json(plan.to_dict())) == cli(
            "retain", "--dry-run", "--config", str(file)
        )
        assert plan.outcome.gone
        # A sync runs it when a day has passed, unless the setting says no.
        assert memory.sync([demo_home()], host="demo").retention == DueRetention()
        tomorrow = now_ms() + 25 * 3_600_000
        monkeypatch.setattr("session_memory.memory.retention.now_ms", lambda: tomorrow)
        result = memory.sync([demo_home()], host="demo")
        assert result.retention is not None and result.retention.outcome is not None
        evicted = {uid for one in result.retention.outcome.gone for uid in one.sessions}
        assert evicted == {uid for one in plan.outcome.gone for uid in one.sessions}
        uid = evicted.pop()
        session = memory.session(uid)
        assert session.record.evicted_at and not memory.store.events.count()
        # The archive is read.
        assert list(session.events)
        assert session.digest().is_stored
        assert memory.sync([demo_home()], host="demo").retention == DueRetention()


# ---------------------------------------------------------------- live


def test_a_live_store_opens_the_store_of_the_configuration(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / ".session-memory" / "config.toml"
    file.parent.mkdir()
    file.write_text(f'store = "{home}/configured.db"\n')
    with SessionStore.open() as live, Memory() as memory:
        assert live.path == memory.live.path == memory.place == str(home / "configured.db")
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(home / "named.db"))
    file.write_text("store = 1")
    with SessionStore.open() as live:
        assert live.path == str(home / "named.db")


def test_live_sessions_are_in_the_same_store(place: Path) -> None:
    with Memory() as memory:
        live = memory.live
        assert isinstance(live, SessionStore) and live is memory.live
        session = live.create_session(title="from a runtime")
        live.append_message(session, role="user", content="remember the green parrot")
        memory.sync([demo_home()], host="demo")
        assert [hit.session_uid for hit in memory.search("green parrot").hits]
        # The live store may be used by another thread meanwhile.
        seqs: list[int] = []

        def append() -> None:
            seqs.append(live.append_message(session, role="user", content="again"))

        thread = threading.Thread(target=append)
        thread.start()
        thread.join()
        assert seqs == [2]


def test_a_store_in_memory_has_live_sessions_too_and_cannot_be_followed() -> None:
    with Memory(":memory:") as memory:
        memory.sync([demo_home()])
        session = memory.live.create_session(title="here")
        assert memory.live.get_session(session) is not None
        for refused in (memory.follow, lambda: memory.live_async):
            with pytest.raises(StoreError, match="in memory"):
                refused()


def test_what_is_no_session_is_refused_with_a_hint(demo_store: Path) -> None:
    with Memory(demo_store) as memory:
        with pytest.raises(InvalidRecord) as refused:
            memory.session(123)  # type: ignore[arg-type]
        assert refused.value.hint
        with pytest.raises(UnknownSession) as unknown:
            memory.similar("oauth token")
        assert unknown.value.hint and "similar(text=" in unknown.value.hint
