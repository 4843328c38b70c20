"""sessions, show, sources and problems, on the bundled sessions."""

import json

import pytest

from session_memory.core.roles import ALL_ROLES
from session_memory.core.schema import Session, SessionEvent, Usage
from session_memory.store.sources import Account, Sources

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

STATION = "claude:91d4f0a7-6b2e-4d15-8c93-e50b7a36f218"
FORK = "claude:e83b5c60-1f47-4a9d-b2c8-09d6f4e7a135"
IMPORT = "claude:7ac31f58-d904-4b6e-a1f7-3c58e2b90d64"
SUBAGENT = f"{IMPORT}:a5d20c71e9b3f648d"
LOANS = "claude:c2e9d7b4-3a15-4f68-b0d3-72a1c9e5f046"
TABLE = "claude:5b0c6a1e-8f2d-4c37-9a64-1d7e3f20b5c8"


@pytest.fixture
def listed(demo, run):
    """The uids a filter leaves."""

    def uids(*words: str) -> list[str]:
        result = run("sessions", "--json", *words)
        assert result.exit_code == 0, result.stderr
        return [session["session_uid"] for session in json.loads(result.stdout)["sessions"]]

    return uids


@pytest.fixture
def shown(demo, run):
    def view(*words: str) -> dict:
        result = run("show", "--json", *words)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return view


# ---------------------------------------------------------------- sessions


def test_sessions_are_whole_records_newest_first(demo, run) -> None:
    answer = json.loads(run("sessions", "--json", "--limit", "0").stdout)
    assert list(answer) == ["sessions", "amounts"]
    sessions = [Session.from_dict(one) for one in answer["sessions"]]
    assert len(sessions) == 8
    assert [one.to_dict() for one in sessions] == answer["sessions"]
    assert sorted((s.ended_at for s in sessions), reverse=True) == [s.ended_at for s in sessions]


@BOTH
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--repo", "tidewatch", "--limit", "2"), 2),
        (("--repo", "TIDE*"), 4),
        (("--repo", "tide"), 0),
        (("--roots",), 6),
        (("--model", "haiku"), 2),
        (("--branch", "station-cache"), 2),
        (("--title", "CACHE"), 2),
        (("--flavor", "codex"), 0),
        (("--outcome", "unknown"), 8),
        (("--outcome", "fail"), 0),
        (("--domain", "shop"), 0),
        (("--since", "2026-07"), 5),
        (("--since", "2026-07", "--until", "2026-07"), 2),
        (("--since", "2026-07-20", "--until", "2026-07-20"), 1),
        (("--until", "2025-12-31"), 1),
        (("--since", "2026-07-20T07:32", "--until", "2026-07-20T07:33"), 1),
    ],
)
def test_filters_leave_what_they_say(words, expected, listed) -> None:
    assert len(listed(*words)) == expected


@BOTH
def test_children_are_found_by_their_parent(listed) -> None:
    assert listed("--parent", "7ac3") == [SUBAGENT]
    assert listed("--parent", "91d4") == [FORK]


@BOTH
def test_sorting_puts_the_most_first(listed) -> None:
    assert listed("--sort", "oldest")[0] == TABLE
    assert listed("--sort", "turns")[0] == STATION
    assert listed("--sort", "tokens")[0] == STATION


@BOTH
def test_the_table_is_aligned_and_says_what_is_missing(demo, run) -> None:
    result = run("sessions", "--limit", "3")
    title, *rows = result.stdout.splitlines()
    assert title.split() == [
        "session",
        "when",
        "repo",
        "model",
        "turns",
        "in",
        "out",
        "cache",
        "cost",
        "title",
    ]
    assert len(rows) == 3
    when = title.index("when")
    assert all(row[when : when + 4] == "2026" and row[when - 1] == " " for row in rows)
    assert "3 of 6 sessions; --limit 0 lists all." in result.stderr
    assert "2 subagents folded; --all lists them." in result.stderr


@BOTH
def test_subagents_are_folded_under_the_session_that_started_them(demo, run) -> None:
    folded = run("sessions", "--limit", "0")
    assert "with German dates +1 subagent, $0.0197" in folded.stdout
    assert "(subagent)" not in folded.stdout
    assert len(folded.stdout.splitlines()) == 1 + 6
    every = run("sessions", "--all", "--limit", "0")
    assert "(subagent) Find the date reader" in every.stdout
    assert len(every.stdout.splitlines()) == 1 + 8
    assert "folded" not in every.stderr
    # Programs get all sessions, and who asks for the children of a session sees them.
    assert len(json.loads(run("sessions", "--limit", "0", "--json").stdout)["sessions"]) == 8
    assert "Find the date reader" in run("sessions", "--parent", "7ac31f58").stdout


def test_quiet_leaves_the_answer_alone(demo, run) -> None:
    result = run("--quiet", "sessions", "--limit", "3")
    assert len(result.stdout.splitlines()) == 4
    assert result.stderr == ""


@BOTH
def test_no_match_and_no_sessions_are_told_apart(demo, run, tmp_path) -> None:
    assert (
        "No session matches, of 8 sessions." in run("sessions", "--title", "nothing like it").stderr
    )
    empty = str(tmp_path / "empty.db")
    run("sync", "--store", empty)
    assert "session-memory sync" in run("sessions", "--store", empty).stderr


# ---------------------------------------------------------------- show


@pytest.mark.parametrize(
    "word",
    [IMPORT, "7ac31f58-d904-4b6e-a1f7-3c58e2b90d64", "7ac3", "claude:7ac31f58"],
)
def test_a_session_answers_to_uid_native_id_and_beginning(word, shown) -> None:
    assert shown(word)["session"]["session_uid"] == IMPORT


@pytest.mark.parametrize("word", [SUBAGENT, "7ac31f58:a5d20c71", "7ac3:a5", f"{IMPORT}:a5"])
def test_a_subagent_answers_to_both_its_parts(word, shown) -> None:
    assert shown(word)["session"]["session_uid"] == SUBAGENT


def test_show_gives_session_events_usage_and_children(shown) -> None:
    answer = shown("7ac3")
    amounts = ["amount", "with_subagents"]
    assert list(answer) == ["session", "events", "usage", "children", *amounts]
    events = [SessionEvent.from_dict(event) for event in answer["events"]]
    assert [event.to_dict() for event in events] == answer["events"]
    assert {event.session_uid for event in events} == {IMPORT}
    assert [event.seq for event in events] == sorted(event.seq for event in events)
    usage = [Usage.from_dict(one) for one in answer["usage"]]
    assert sum(u.output_tokens for u in usage) == answer["session"]["cost"]["output_tokens"]
    assert answer["children"] == [SUBAGENT]


def test_kinds_are_matched_by_mark_too(shown) -> None:
    calls = shown("7ac3", "--kind", "tool_call")["events"]
    assert {event["kind"] for event in calls} == {"tool_call", "edit", "test_run"}
    both = shown("7ac3", "--kind", "user_msg", "--kind", "error")["events"]
    assert {event["kind"] for event in both} == {"user_msg", "error"}


def test_a_fork_shows_what_it_inherited_only_when_asked(shown) -> None:
    own = shown("e83b")["events"]
    assert {event["session_uid"] for event in own} == {FORK}
    every = shown("e83b", "--inherited")["events"]
    others = [event for event in every if event.get("inherited")]
    assert len(others) == len(every) - len(own) > 0
    assert {event["session_uid"] for event in others} == {STATION}
    order = [event.get("seq_here", event["seq"]) for event in every]
    assert order == sorted(order)
    parents = {event["event_uid"] for event in shown("91d4")["events"]}
    assert {event["event_uid"] for event in others} <= parents


def test_full_adds_the_record_as_the_agent_wrote_it(shown) -> None:
    events = shown("7ac3", "--full")["events"]
    assert all("payload" in event for event in events)
    (prompt,) = [event for event in events if event["kind"] == "user_msg"]
    assert prompt["payload"]["message"]["content"].startswith("The nightly import")
    assert prompt["payload"]["uuid"] == prompt["native_id"]


def test_full_adds_what_the_agent_keeps_apart(shown) -> None:
    (spilled,) = [event for event in shown("7ac3", "--full")["events"] if "spilled" in event]
    assert spilled["tool"] == "Bash"
    assert "[420/420]" in spilled["spilled"]
    assert "[420/420]" not in json.dumps(spilled["payload"])


def test_subagents_stand_below_the_calls_that_started_them(demo, run) -> None:
    lines = run("show", "7ac3").stdout.splitlines()
    (call,) = [n for n, line in enumerate(lines) if "Agent  Find the date reader" in line]
    assert lines[call + 1].strip().startswith("┌─ subagent 7ac31f58:a5d20c71 Find the date reader")
    assert "grep -rn 'Date' src" in "\n".join(lines[call:])
    closed = run("show", "7ac3", "--no-children").stdout
    assert "├─ subagent 7ac31f58:a5d20c71" in closed
    assert "grep -rn" not in closed


@BOTH
def test_branches_sidechains_and_compactions_are_marked(demo, run) -> None:
    branch = run("show", "91d4").stdout.partition("you [abandoned branch]\n")[2]
    assert branch.strip().startswith("▌ Make the six hours a command-line flag.")
    assert "claude [sidechain]\n" in run("show", "5b0c").stdout
    assert "[compaction] Conversation compacted" in run("show", "c2e9").stdout
    inherited = run("show", "e83b", "--inherited").stdout
    assert "inherits 19 events of 91d4f0a7\n" in inherited
    assert "of 91d4f0a7; --inherited shows them\n" in run("show", "e83b").stdout
    copied = inherited.partition("you [inherited]\n")[2]
    assert copied.strip().startswith("▌ Every run downloads")


def test_the_header_says_whose_child_and_whose_parent_a_session_is(demo, run) -> None:
    assert "parent   fork of 91d4f0a7" in run("show", "e83b").stdout
    assert "fork     e83b5c60 Compare a SQLite cache with files" in run("show", "91d4").stdout


def test_full_shows_a_record_once_and_its_texts_line_by_line(demo, run) -> None:
    text = run("show", "7ac3", "--full", "--no-children").stdout
    assert "the whole output, which the agent keeps apart:" in text
    assert text.count("timestamp: 2026-11-10T21:14:48") == len(
        {line for line in text.splitlines() if "timestamp: 2026-11-10T21:14:48" in line}
    )


@BOTH
def test_a_beginning_that_several_share_is_refused_with_their_names(run, tmp_path, home) -> None:
    project = home / ".claude" / "projects" / "-p"
    project.mkdir(parents=True)
    for name in ("abcd1111", "abcd2222"):
        line = {"type": "user", "uuid": name, "sessionId": name, "message": {"content": "hello"}}
        (project / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    assert run("sync").exit_code == 0
    result = run("show", "abcd")
    assert result.exit_code == 1
    assert "2 sessions begin with 'abcd'" in result.stderr
    assert "abcd1111, abcd2222" in result.stderr
    assert run("show", "abcd2").exit_code == 0
    assert "too short" in run("show", "abc").stderr


# ---------------------------------------------------------------- sources and problems


def test_every_file_is_listed_with_its_state(demo, run) -> None:
    answer = json.loads(run("sources", "--json").stdout)
    assert answer["total"] == len(answer["sources"]) == 10
    assert {source["state"] for source in answer["sources"]} == {"read"}
    assert {source["role"] for source in answer["sources"]} == {"log", "document", "spill"}
    assert json.loads(run("sources", "--json", "--state", "gone").stdout)["total"] == 0
    table = run("sources", "--path", "tool-results").stdout
    assert table.count("\n") == 2 and "bq7m2x9kd.txt" in table


def test_every_line_is_accounted_for(demo, run) -> None:
    result = run("sources", "--accounting", "--json")
    assert result.exit_code == 0
    sums = json.loads(result.stdout)
    parts = ("events", "bookkeeping", "copies", "problems", "unaccounted")
    assert sums["lines"] == sum(sums[part] for part in parts)
    assert sums["unaccounted"] == 0
    assert sums["bookkeeping"] == sum(sums["bookkeeping_kinds"].values())
    text = run("sources", "--accounting").stdout
    assert f"{sums['lines']:,}  non-blank lines in 8 logs" in text
    assert "0  unaccounted for" in text
    assert "8  tools-used" in text


def test_a_line_that_is_unaccounted_for_is_status_3(demo, run, monkeypatch) -> None:
    monkeypatch.setattr(
        Sources, "account", lambda self: {1: Account(lines=5, events=4, unaccounted=1)}
    )
    result = run("sources", "--accounting")
    assert result.exit_code == 3
    assert "1  unaccounted for" in result.stdout and "1  in /" in result.stdout


def test_problems_have_their_file_and_byte(demo, run) -> None:
    answer = json.loads(run("problems", "--json").stdout)
    assert (answer["total"], answer["reasons"]) == (1, {"malformed line": 1})
    (problem,) = answer["problems"]
    assert problem["path"].endswith("20f6e9c3-57ab-4e81-9d0c-b4a871f3d5e2.jsonl")
    assert problem["offset"] > 0 and problem["length"] > 0
    assert str(problem["offset"]) in run("problems").stdout
    assert "1 problem: 1 × malformed line." in run("problems").stderr
    assert "No problems." in run("problems", "--path", "elsewhere").stderr


def test_a_log_that_was_written_to_since_is_behind(home, run) -> None:
    log = home / ".claude" / "projects" / "-p" / "s.jsonl"
    log.parent.mkdir(parents=True)
    line = '{"type":"user","uuid":"u%d","sessionId":"s","message":{"content":"hi"}}\n'
    log.write_text(line % 1)
    run("sync")
    assert json.loads(run("sources", "--state", "behind", "--json").stdout)["total"] == 0
    log.write_text(line % 1 + line % 2)
    assert json.loads(run("sources", "--state", "behind", "--json").stdout)["total"] == 1
    run("sync")
    assert json.loads(run("sources", "--state", "behind", "--json").stdout)["total"] == 0


def test_sources_can_be_chosen_by_machine_and_role(demo, run) -> None:
    def total(*words: str) -> int:
        return json.loads(run("sources", "--json", *words).stdout)["total"]

    assert total("--host", "demo") == total() > 0
    assert total("--host", "another") == 0
    assert 0 < total("--role", "log") < total()
    assert sum(total("--role", role) for role in ALL_ROLES) == total()
