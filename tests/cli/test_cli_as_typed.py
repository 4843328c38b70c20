"""Commands do what they look like: a text for a session, a period for days, - for a file."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from session_memory.live.store import SessionStore
from session_memory.store import open_store

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

Run = Callable[..., Result]


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


# ---------------------------------------------------------------- similar


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("words", [("harbour page html",), ("harbour", "page", "html")])
def test_similar_takes_a_text_that_names_no_session(words: tuple[str, ...], demo: Any, run: Run):
    found = answer(run("similar", *words, "--json"))
    assert found == answer(run("similar", "--text", "harbour page html", "--json"))
    assert found["sessions"]


def test_similar_takes_the_beginning_of_an_id(demo: Any, run: Run) -> None:
    found = answer(run("similar", "91d4f0a7", "--json"))
    assert found["sessions"]
    assert found != answer(run("similar", "--text", "91d4f0a7", "--json"))


def test_the_name_of_an_agent_is_a_word_like_any_other(demo: Any, run: Run) -> None:
    assert answer(run("similar", "claude", "--json"))["words"] is not None


def test_an_id_of_no_session_is_an_error_that_names_the_way_to_search_it_as_text(
    demo: Any, run: Run
) -> None:
    result = run("similar", "91d4ffff")
    assert result.exit_code == 1
    assert "no session '91d4ffff'" in result.stderr
    assert "session-memory similar --text 91d4ffff" in result.stderr


# ---------------------------------------------------------------- retro


def test_retro_takes_a_period(demo: Any, run: Run) -> None:
    run("analyze")
    whole = answer(run("retro", "--since", "2025-01-01", "--json"))
    assert whole["since"] == "2025-01-01T00:00:00.000Z"
    assert whole["repos"]
    month = answer(run("retro", "--since", "2026-07", "--until", "2026-07", "--json"))
    assert (month["since"][:10], month["until"][:10]) == ("2026-07-01", "2026-08-01")
    assert [repo["repo"] for repo in month["repos"]] == ["tidewatch"]
    assert answer(run("retro", "--since", "1d", "--json"))["repos"] == []


@pytest.mark.parametrize("words", [("--days", "3", "--since", "7d"), ("91d4f0a7", "--since", "7d")])
def test_retro_refuses_two_answers_to_one_question(
    words: tuple[str, ...], demo: Any, run: Run
) -> None:
    assert run("retro", *words).exit_code == 2


# ---------------------------------------------------------------- show --around


def test_around_takes_the_number_or_the_id_of_an_event(demo: Any, run: Run) -> None:
    events = answer(run("show", "91d4f0a7", "--json"))["events"]
    event = events[20]
    by_number = run("show", "91d4f0a7", "--around", str(event["seq"]))
    assert by_number.exit_code == 0
    by_id = run("show", "91d4f0a7", "--around", event["event_uid"])
    assert by_id.stdout == by_number.stdout
    beginning = event["event_uid"].rpartition(":")[0]
    as_json = answer(run("show", "91d4f0a7", "--around", beginning, "--json"))
    assert event["seq"] in [one["seq"] for one in as_json["events"]]
    assert 10 < len(as_json["events"]) <= 21


@pytest.mark.only("sqlite")
def test_around_an_event_that_a_fork_inherited(demo: Any, run: Run) -> None:
    held = answer(run("show", "e83b5c60", "--inherited", "--json"))["events"]
    event = next(one for one in held if one.get("inherited"))
    shown = answer(run("show", "e83b5c60", "--inherited", "--around", event["event_uid"], "--json"))
    assert event["event_uid"] in [one["event_uid"] for one in shown["events"]]


@pytest.mark.parametrize("event", ["nonsense", "no", "", "9999"])
def test_around_no_event_is_an_error(event: str, demo: Any, run: Run) -> None:
    result = run("show", "91d4f0a7", "--around", event)
    assert result.exit_code == 1
    assert "has no event" in result.stderr


@pytest.mark.only("sqlite")
def test_a_beginning_that_several_events_share_is_an_error(
    tmp_path: Path, demo: Any, run: Run
) -> None:
    events = answer(run("show", "91d4f0a7", "--json"))["events"]
    shared = events[3]["event_uid"][:4]
    alike = {e["event_uid"].rpartition(":")[0] for e in events if e["event_uid"][:4] == shared}
    result = run("show", "91d4f0a7", "--around", shared)
    assert result.exit_code == (1 if len(alike) > 1 else 0)


# ---------------------------------------------------------------- export


@pytest.mark.only("sqlite")
def test_a_transcript_goes_to_standard_output(demo: Any, run: Run) -> None:
    plain = run("export", "--format", "markdown", "7ac3")
    assert run("export", "--format", "markdown", "7ac3", "-o", "-").stdout == plain.stdout
    assert plain.stdout.startswith("# ")


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("words", [("-o", "-", "7ac3"), ("-", "7ac3")])
def test_a_portable_file_goes_to_standard_output(
    words: tuple[str, ...], demo: Path, tmp_path: Path, run: Run
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "session_memory", "export", *words],
        capture_output=True,
        check=True,
        timeout=60,
    )
    file = tmp_path / "one.smx"
    file.write_bytes(done.stdout)
    other = tmp_path / "other.db"
    assert run("import", str(file), "--store", str(other)).exit_code == 0
    with open_store(other) as store:
        assert any("7ac31f58" in uid for uid in store.sessions.uids())


@pytest.mark.only("sqlite")
def test_with_json_a_portable_file_needs_a_name(demo: Any, run: Run) -> None:
    result = run("export", "-o", "-", "--json")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.fixture
def live(demo: Any) -> str:
    """The id of a live session in the store."""
    with SessionStore.open(demo) as store:
        session = store.create_session(title="a live one")
        store.append_message(session, role="user", content="hello from a runtime")
    return session


@pytest.mark.only("sqlite")
def test_an_export_of_everything_has_the_live_sessions(live: str, tmp_path: Path, run: Run) -> None:
    assert run("export", str(tmp_path / "all.smx")).exit_code == 0
    other = str(tmp_path / "other.db")
    assert run("import", str(tmp_path / "all.smx"), "--store", other).exit_code == 0
    shown = run("live", "show", live, "--store", other)
    assert "hello from a runtime" in shown.stdout


@pytest.mark.only("sqlite")
def test_one_live_session_is_exported_in_every_format_and_written_below_a_directory(
    live: str, tmp_path: Path, run: Run
) -> None:
    # No sync has read it yet.
    early = run("export", str(tmp_path / "early.smx"), f"live:{live}", "--json")
    assert json.loads(early.stdout)["sources"] == 1
    assert run("restore-native", f"live:{live}", "--to", str(tmp_path / "early")).exit_code == 0
    run("sync")
    done = run("export", str(tmp_path / "one.smx"), live, "--json")
    assert json.loads(done.stdout)["sources"] == 1
    refused = run("restore-native", live)
    assert refused.exit_code == 1
    assert "restore-native UID --to DIR" in refused.stderr
    assert run("restore-native", live, "--to", str(tmp_path / "logs")).exit_code == 0
    assert "hello from a runtime" in (tmp_path / "logs/live" / f"{live}.jsonl").read_text()
    assert "hello from a runtime" in run("export", "--format", "markdown", live).stdout


# ---------------------------------------------------------------- texts with dashes


def test_a_text_that_begins_with_dashes_is_a_text(demo: Any, run: Run) -> None:
    found = answer(run("fix", "--- FAIL: TestNothing (0.00s)", "--json"))
    assert "TestNothing" in found["asked"]
    assert run("fix", "--wrong", "x").exit_code == 2


def test_a_word_is_excluded_without_quotes(demo: Any, run: Run) -> None:
    quoted = answer(run("search", "harbour -page", "--json"))
    assert quoted == answer(run("search", "harbour", "-page", "--json"))
    assert quoted == answer(run("search", "-page", "harbour", "--limit", "20", "--json"))
    assert quoted["total"] < answer(run("search", "harbour", "--json"))["total"]
    # What follows an option is its value, and -q is an option.
    assert answer(run("search", "--file", "-page", "-q", "--json"))["hits"] == []


def test_a_wrong_option_is_no_text(demo: Any, run: Run) -> None:
    assert run("sessions", "--wrong x").exit_code == 2
