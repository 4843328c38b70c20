"""``session-memory secrets``: where they are, and never what they are."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.config import Config
from session_memory.live import SessionStore
from session_memory.redact import secrets
from session_memory.retain.forget import forget
from session_memory.store.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import collect, events_of, new_store
from session_memory.testing.secrets import planted_secrets
from session_memory.views import secrets as views_secrets
from session_memory.views.secrets import OVERLAP, list_secrets, preview, stretches
from session_memory.views.sessions import Filter

PLANTED = {planted.kind: planted for planted in planted_secrets(9)}
TOKEN, KEY = PLANTED["github-token"], PLANTED["private-key"]
PASSWORD = PLANTED["database-url-password"]


def home_with_secrets(path: Path) -> ClaudeHome:
    home = ClaudeHome(path, cwd="/home/mira/code/shop")
    log = home.session("alpha")
    log.prompt(f"push with {TOKEN.secret} and again {TOKEN.secret}")
    log.answer("I do.", call("Bash", command=f"psql {PASSWORD.text}"), used=usage(3))
    log.result("ok")
    log.spill("key.txt", KEY.secret.encode() + b"\n")
    other = home.session("beta")
    other.prompt(f"the same: {TOKEN.secret}")
    clean = home.session("clean")
    clean.prompt("nothing to hide here")
    home.write()
    return home


@pytest.fixture
def store(tmp_path: Path, on_the_database: None) -> Any:
    home_with_secrets(tmp_path)
    with new_store() as made:
        collect(made, tmp_path)
        yield made


@pytest.mark.only("sqlite")
def test_every_place_is_listed_with_its_event(store: Store) -> None:
    listing = list_secrets(store)
    events = {event.event_uid: event for event in events_of(store, "claude:alpha")}
    found = {(f.session_uid, f.kind): f for f in listing.findings}
    token = found["claude:alpha", "github-token"]
    assert events[token.event_uid or ""].kind == "user_msg"
    assert (token.count, token.seq, token.genuine) == (2, 0, True)
    password = found["claude:alpha", "database-url-password"]
    assert events[password.event_uid or ""].is_a("tool_call")
    key = found["claude:alpha", "private-key"]
    assert (key.event_uid, key.path.rpartition("/")[2]) == (None, "key.txt")
    again = found["claude:beta", "github-token"]
    assert again.number == token.number != key.number
    assert (listing.total, listing.distinct) == (5, 3)
    assert listing.kinds == {"github-token": 3, "database-url-password": 1, "private-key": 1}


def test_secrets_of_live_sessions_are_listed_with_their_events(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with SessionStore.open(place) as live:
        session = live.create_session(system_prompt="help")
        live.append_message(session, role="user", content="hello")
        live.append_message(session, role="assistant", content=f"I use {TOKEN.secret}")
    with open_store(place) as made:
        collect(made, tmp_path)
        (finding,) = list_secrets(made).findings
        (event,) = [e for e in events_of(made, f"live:{session}") if e.role == "assistant"]
        assert (finding.session_uid, finding.event_uid) == (f"live:{session}", event.event_uid)


def test_one_session_one_kind_or_what_a_filter_admits(store: Store) -> None:
    assert list_secrets(store, uid="claude:beta").total == 1
    assert list_secrets(store, uid="claude:clean").total == 0
    assert list_secrets(store, kind="private-key").kinds == {"private-key": 1}
    assert list_secrets(store, Filter(repo="shop")).total == 5
    assert list_secrets(store, Filter(repo="other")).total == 0
    limited = list_secrets(store, limit=1)
    assert (len(limited.findings), limited.total) == (1, 5)


def test_no_secret_is_ever_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home_with_secrets(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    run = CliRunner()
    assert run.invoke(main, ["sync"]).exit_code == 0
    for more in ([], ["--json"], ["alpha"], ["--kind", "github-token", "--limit", "0"]):
        result = run.invoke(main, ["secrets", *more])
        assert result.exit_code == 0, result.output
        assert "github-token" in result.output
        assert list(secrets(result.output)) == []
        for planted in (TOKEN, PASSWORD, KEY):
            for part in (planted.secret[:14], planted.secret[-14:]):
                assert (
                    part not in result.output or part.startswith("-----") or part.endswith("-----")
                )
    listing = json.loads(run.invoke(main, ["secrets", "--json"]).output)
    assert listing.keys() == {"secrets", "total", "distinct", "kinds", "bytes"}
    assert "[redacted:github-token]" in listing["secrets"][0]["preview"]
    unknown = run.invoke(main, ["secrets", "--kind", "github-tokens"])
    assert unknown.exit_code == 2 and "Did you mean github-token?" in unknown.output


def test_a_store_without_secrets_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home_with_secrets(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    run = CliRunner()
    assert run.invoke(main, ["sync", "--redact"]).exit_code == 0
    assert "No secrets in" in run.invoke(main, ["secrets"]).output
    assert "log, masked" in run.invoke(main, ["sources"]).output
    listed = json.loads(run.invoke(main, ["sources", "--json"]).output)["sources"]
    assert {source["redacted_from"] for source in listed} == {0}


def test_a_preview_shows_whole_words_and_no_other_secret() -> None:
    text = f"use {PASSWORD.text} with {TOKEN.secret} now".encode()
    for secret in secrets(text):
        shown = preview(text, secret)
        assert f"[redacted:{secret.kind}]" in shown
        assert PASSWORD.secret not in shown and TOKEN.secret not in shown


def test_a_line_of_any_length_is_looked_at_in_parts_that_overlap() -> None:
    padding = b"x " * (5 * 1024 * 1024)
    line = padding + TOKEN.secret.encode() + b" " + padding
    parts = list(stretches(BytesIO(line)))
    assert len(parts) > 1
    assert sum(end for _, _, end in parts) == len(line)
    assert all(len(data) <= 10 * 1024 * 1024 + OVERLAP for _, data, _ in parts)
    found = [(o + s.start) for o, data, end in parts for s in secrets(data) if s.start < end]
    assert found == [len(padding)]


def test_a_second_search_finds_the_same_and_reads_only_what_is_new_or_has_a_secret(
    tmp_path: Path, on_the_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views_secrets, "READ_AT_ONCE", 500)
    home = home_with_secrets(tmp_path)
    long = home.session("long")
    for number in range(12):
        long.prompt(f"prompt {number} " + ("" if number % 4 else f"with {TOKEN.secret}"))
    home.write()
    searched: list[int] = []

    def counted(data: bytes) -> Any:
        searched.append(len(data))
        return secrets(data)

    monkeypatch.setattr(views_secrets, "secrets", counted)
    with new_store() as store:
        collect(store, tmp_path)
        first = list_secrets(store)
        everything = sum(searched)
        searched.clear()
        assert list_secrets(store) == first
        assert 0 < sum(searched) < everything / 2
        (kept,) = store.db.all("select sum(length(stretches)) from secret_scans")
        assert kept[0] < 400
        long.prompt(f"more, and {TOKEN.secret}")
        home.session("clean").prompt(f"now {TOKEN.secret}")
        home.write()
        collect(store, tmp_path)
        grown = list_secrets(store)
        store.db.execute("delete from secret_scans")
        assert list_secrets(store) == grown != first
        monkeypatch.setattr(views_secrets, "VERSION", -1)
        searched.clear()
        assert list_secrets(store) == grown
        assert sum(searched) > everything


def test_what_was_searched_is_forgotten_with_the_session(store: Store) -> None:
    list_secrets(store)
    known = "select count(*) from secret_scans"
    before = store.db.value(known)
    forget(store, Config(), ["claude:alpha"], 1_790_000_000_000)
    assert store.db.value(known) < before
    assert list_secrets(store).total == 1
