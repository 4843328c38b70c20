"""``search``, ``similar`` and ``reindex`` as people and scripts use them."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from session_memory.store import open_store
from session_memory.store.recall import Recall

Run = Callable[..., Result]


def hits(run: Run, *words: str) -> list[dict[str, object]]:
    printed = json.loads(run("search", *words, "--json").stdout)
    assert set(printed) >= {"hits", "total", "total_exact"}
    found: list[dict[str, object]] = printed["hits"]
    return found


def test_sessions_are_shown_with_their_best_hits_and_the_way_to_them(demo: Path, run: Run) -> None:
    shown = run("search", "clock", "change")
    lines = shown.stdout.splitlines()
    assert lines[0] == "Tide table: clock change bug fixed"
    assert lines[1].startswith("  session-memory show 5b0c6a1e --around 20  claude · tidewatch · ")
    assert "  title  the title has clock, change" in lines
    assert any("days on both sides of a clock change" in line for line in lines)


@pytest.mark.only("sqlite")
def test_the_json_has_the_promised_shape(demo: Path, run: Run) -> None:
    found = hits(run, "clock", "--limit", "0")
    expected = {"session_uid", "event_uid", "seq", "score", "class", "why", "snippet"}
    assert all(set(hit) >= expected for hit in found)
    title, *others = found
    assert (title["class"], title["event_uid"], title["seq"]) == ("title", None, None)
    assert all(hit["event_uid"] and isinstance(hit["seq"], int) for hit in others)


@pytest.mark.only("sqlite")
def test_options_and_fields_narrow_down_alike(demo: Path, run: Run) -> None:
    for option, field in (("--repo", "repo"), ("--kind", "kind"), ("--tool", "tool")):
        value = {"repo": "tidewatch", "kind": "test_run", "tool": "Bash"}[field]
        by_option = hits(run, "test*", option, value, "--limit", "0")
        assert by_option
        assert by_option == hits(run, "test*", f"{field}:{value}", "--limit", "0")


def test_a_phrase_is_what_stands_in_quotes(demo: Path, run: Run) -> None:
    assert hits(run, '"clock change"')
    assert not hits(run, '"change clock"')
    assert hits(run, "change clock") == hits(run, "change", "clock") != []


@pytest.mark.only("sqlite")
def test_nothing_found_offers_what_was_meant(demo: Path, run: Run) -> None:
    shown = run("search", "harbuor")
    assert shown.stdout == ""
    assert shown.stderr.splitlines() == ["Nothing found.", "Did you mean harbour?"]
    assert json.loads(run("search", "harbuor", "--json").stdout)["did_you_mean"] == {
        "harbuor": ["harbour"]
    }


def test_a_page_says_how_much_there_is(demo: Path, run: Run) -> None:
    total = len(hits(run, "the", "--limit", "0"))
    assert total > 5
    assert f"of {total} hits; --limit 0 shows all." in run("search", "the", "--limit", "5").stderr


@pytest.mark.only("sqlite")
def test_no_question_is_a_mistake_in_its_use(demo: Path, run: Run) -> None:
    shown = run("search")
    assert shown.exit_code == 2
    assert "give words to search for" in shown.stderr


@pytest.mark.only("sqlite")
def test_an_empty_store_says_what_to_do(home: Path, run: Run) -> None:
    run("sync")
    assert "session-memory sync" in run("search", "anything").stderr


def test_like_another_session_or_like_a_text(demo: Path, run: Run) -> None:
    printed = json.loads(run("similar", "91d4f0a7", "--json").stdout)
    assert printed["words"]
    uids = [one["session_uid"] for one in printed["sessions"]]
    assert uids
    assert not any("91d4f0a7" in uid for uid in uids)
    by_text = json.loads(run("similar", "--text", "harbour page html", "--json").stdout)
    assert by_text["sessions"][0]["session_uid"].startswith("claude:20f6e9c3")
    assert run("similar").exit_code == 2


@pytest.mark.only("sqlite")
def test_an_index_can_be_built_anew(demo: Path, run: Run) -> None:
    before = hits(run, "the", "--limit", "0")
    assert run("reindex").stdout == "Indexed 8 sessions.\n"
    assert json.loads(run("reindex", "--json").stdout) == {"sessions": 8}
    assert hits(run, "the", "--limit", "0") == before


def test_a_store_without_an_index_gets_one_before_it_answers(demo: Path, run: Run) -> None:
    expected = hits(run, "the", "--limit", "0")
    with open_store(demo) as store, store.transaction():
        store.index.clear()
        store.index.declare(complete=False)
    assert hits(run, "the", "--limit", "0") == expected


@pytest.mark.only("sqlite")
def test_who_may_only_read_is_answered_and_told_what_is_missing(
    demo: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(demo) as store:
        with store.transaction():
            store.index.declare(complete=False)
        store.db.checkpoint()  # type: ignore[attr-defined]
    for beside in demo.parent.glob("memory.db-*"):
        beside.unlink()
    really = os.access

    def no_writing(path: object, mode: int, **more: object) -> bool:
        is_ours = str(path).startswith(str(demo.parent))
        return really(path, mode, **more) and not (is_ours and mode == os.W_OK)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "access", no_writing)
    printed = json.loads(run("search", "clock", "--json").stdout)
    assert (printed["behind"], printed["total_exact"]) == (8, False)
    assert printed["hits"]
    assert "are not in the index" in run("search", "clock").stderr


def test_sessions_in_the_archive_are_named(demo: Path, run: Run, tmp_path: Path) -> None:
    """Their events are gone from the store; what they are called is not."""
    config = tmp_path / "config.toml"
    config.write_text(
        "[retention]\nraw_max_age_days = 0\narchive_small = true\n"
        f'archive_dir = "{tmp_path / "archive"}"\n'
    )
    assert "evicted" not in json.loads(run("search", "clock", "--json").stdout)
    assert run("analyze").exit_code == 0
    assert run("retain", "--config", str(config)).exit_code == 0
    printed = json.loads(run("search", "clock", "--json").stdout)
    assert printed["evicted"] > 0
    assert {hit["class"] for hit in printed["hits"]} == {"title"}
    assert "only the titles were searched" in run("search", "clock").stderr


def test_a_search_for_sessions_says_which_were_compared_by_their_titles(
    demo: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("search", "--by", "session", "clock").exit_code == 0
    monkeypatch.setattr(Recall, "absent_evicted", lambda self: ["claude:x"])
    for words in ((), ("--json",)):
        result = run("search", "--by", "session", "clock", *words)
        assert result.exit_code == 3
    assert json.loads(result.stdout)["evicted"] == 1
