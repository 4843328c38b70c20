"""What lies beside a Grok log: the timeline, the documents, and everything that is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.base import CallOutcome, Cursor, Record, SourceRef, Unlisted
from session_memory.adapters.claude import AGENT as claude
from session_memory.adapters.grok import AGENT as grok
from session_memory.core.roles import DOCUMENT, LOG, SPILL, TIMELINE
from session_memory.testing.adapters import BytesSource
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.grok import GrokHome, GrokLog


@pytest.fixture
def home(tmp_path: Path) -> GrokHome:
    return GrokHome(tmp_path / "home")


@pytest.fixture
def log(home: GrokHome) -> GrokLog:
    log = home.session("alpha")
    log.prompt("hello")
    return log


def found(root: Path) -> dict[str, SourceRef]:
    refs: dict[str, SourceRef] = {}
    for ref in grok.discover(root):
        assert isinstance(ref, SourceRef), ref
        refs |= {part.home_path: part for part in (ref, *ref.companions)}
    return refs


def timeline(log: GrokLog) -> list[Record]:
    body = log.contents()[log.place / "events.jsonl"]
    ref = SourceRef(Path("events.jsonl"), TIMELINE, session=log.session)
    return [record for _, record in grok.read(BytesSource(ref, body), Cursor())]


def document(content: Any, agent: str = "") -> Record:
    ref = SourceRef(Path("document.json"), DOCUMENT, session="alpha", agent=agent)
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    ((_, record),) = grok.read(BytesSource(ref, body), Cursor())
    return record


# ---------------------------------------------------------------- where


def test_roots_are_where_the_environment_says(tmp_path: Path) -> None:
    assert grok.roots({}, tmp_path) == [tmp_path / ".grok"]
    assert grok.roots({"GROK_HOME": "/srv/grok"}, tmp_path) == [Path("/srv/grok")]


def test_a_session_is_its_log_with_all_that_lies_beside_it(home: GrokHome, log: GrokLog) -> None:
    log.moment("first_token")
    log.meta_of("child", "Look around")
    for name in ("usage.json", "chat_history.jsonl", "terminal/a.log", "compaction/segment_000.md"):
        log.files[name] = b"{}"
    for name in ("session.lock", "agent.sock", "half.tmp", "search.sqlite"):
        log.files[name] = b""
    root = home.write()
    roles = {path.rpartition("alpha/")[2]: ref.role for path, ref in found(root).items()}
    assert roles == {
        "updates.jsonl": LOG,
        "events.jsonl": TIMELINE,
        "summary.json": DOCUMENT,
        "subagents/child/meta.json": DOCUMENT,
        "usage.json": SPILL,
        "chat_history.jsonl": SPILL,
        "terminal/a.log": SPILL,
        "compaction/segment_000.md": SPILL,
    }
    assert found(root) == found(root / ".grok") == found(root / ".grok" / "sessions")


def test_what_is_beside_the_sessions_is_left_alone(home: GrokHome, log: GrokLog) -> None:
    root = home.write()
    before = found(root)
    for name in ("config.toml", "auth.json", "grok.db", "sessions/session_search.sqlite"):
        (root / ".grok" / name).write_text("secret")
    (root / log.place.parent / "prompt_history.jsonl").write_text('{"prompt":"hello"}\n')
    assert found(root) == before


def test_a_directory_without_a_log_is_no_session_yet(home: GrokHome, log: GrokLog) -> None:
    root = home.write()
    (root / log.place / "updates.jsonl").unlink()
    assert found(root) == {}


def test_links_inside_a_session_are_not_followed(
    home: GrokHome, log: GrokLog, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    root = home.write()
    (root / log.place / "images").symlink_to(secret)
    (root / log.place / "notes.txt").symlink_to(secret / "key")
    assert {ref.path.name for ref in found(root).values()} == {"updates.jsonl", "summary.json"}


def test_a_log_that_cannot_be_one_is_said_to_be_there(home: GrokHome, log: GrokLog) -> None:
    root = home.write()
    place = root / log.place / "updates.jsonl"
    place.unlink()
    place.mkdir()
    assert [type(ref) for ref in grok.discover(root)] == [Unlisted]


def test_session_directories_gathered_elsewhere_are_found_whole(
    home: GrokHome, log: GrokLog
) -> None:
    root = home.write()
    gathered = root.parent / "gathered"
    (root / log.place.parent).rename(gathered)
    paths = {path: ref.role for path, ref in found(gathered).items()}
    assert paths == {
        ".grok/sessions/alpha/updates.jsonl": LOG,
        ".grok/sessions/alpha/summary.json": DOCUMENT,
    }


def test_agents_know_their_own_logs(home: GrokHome, log: GrokLog, tmp_path: Path) -> None:
    other = ClaudeHome(tmp_path / "other")
    written = other.session("main")
    written.prompt("hello")
    assert grok.recognizes(log.data) and not grok.recognizes(written.data)
    assert claude.recognizes(written.data) and not claude.recognizes(log.data)
    assert list(grok.discover(other.write())) == []
    assert list(claude.discover(home.write())) == []


# ---------------------------------------------------------------- the timeline


def test_a_timeline_tells_how_calls_ended_and_how_long_they_took(log: GrokLog) -> None:
    log.call("read_file", target_file="a")
    log.completed("read_file", "success", 7)
    log.completed("read_file", "error", 8)
    log.completed("read_file", "hook_denied", 0)
    outcomes = [outcome for record in timeline(log) for outcome in record.outcomes]
    assert outcomes == [
        CallOutcome(log.call_id, None, None, 7),
        CallOutcome(log.call_id, True, None, 8),
        CallOutcome(log.call_id, True, None, 0),
    ]


@pytest.mark.parametrize("outcome", ["permission_rejected", "permission_cancelled", "followup"])
def test_a_call_that_a_person_refused_is_an_intervention(log: GrokLog, outcome: str) -> None:
    log.call("write", file_path="a")
    log.completed("write", outcome)
    assert timeline(log)[0].outcomes[0].marks == ("human_intervention",)


@pytest.mark.parametrize(
    ("wait_ms", "yolo", "marks"), [(4000, False, ("decision",)), (0, False, ()), (4000, True, ())]
)
def test_a_permission_is_a_decision_when_a_person_gave_it(
    log: GrokLog, wait_ms: int, yolo: bool, marks: tuple[str, ...]
) -> None:
    log.moment("turn_started", yolo_mode=yolo)
    log.call("write", file_path="a")
    log.moment("permission_resolved", tool_name="write", decision="allow", wait_ms=wait_ms)
    log.completed("read_file")
    log.completed("write")
    first, second = [o for record in timeline(log) for o in record.outcomes]
    assert (first.marks, second.marks) == ((), marks)


def test_a_proxys_account_of_a_call_is_not_the_calls(log: GrokLog) -> None:
    log.moment(
        "tool_completed", tool_name="x", tool_call_id="c", outcome="error", source="workspace"
    )
    assert timeline(log)[0].outcomes == []


def test_allowing_everything_is_a_decision(log: GrokLog) -> None:
    log.moment("yolo_toggled", enabled=True)
    (event,) = timeline(log)[0].events
    assert (event.kind, event.role) == ("decision", "user")


# ---------------------------------------------------------------- documents


def test_a_summary_names_the_session_and_its_place() -> None:
    content = {
        "info": {"id": "alpha", "cwd": "/home/mira/code/app"},
        "generated_title": "Fix the build",
        "head_branch": "main",
        "current_model_id": "grok-4.6",
        "git_root_dir": "/home/mira/code/",
        "git_remotes": {"origin": "https://mira:s3cr3t@example.com/acme/shop.git"},
    }
    assert document(content).facts == {
        "title": "Fix the build",
        "custom_title": None,
        "cwd": "/home/mira/code/app",
        "git_branch": "main",
        "model": "grok-4.6",
        "repository": "shop",
        "repository_root": "/home/mira/code/",
    }
    assert (document({**content, "title_is_manual": True}).facts or {})[
        "custom_title"
    ] == "Fix the build"


@pytest.mark.parametrize(
    ("content", "relation", "parent"),
    [
        ({"session_kind": "fork", "parent_session_id": "main"}, "fork", "main"),
        ({"session_kind": "worktree", "parent_session_id": "main"}, "fork", "main"),
        ({"session_kind": "subagent"}, "subagent", None),
        ({"session_kind": "subagent_fork", "parent_session_id": "main"}, "subagent", "main"),
        ({"session_kind": "subagent_resume", "parent_session_id": "other"}, "subagent", None),
        ({"session_kind": "headless"}, None, None),
        ({"session_kind": "fork", "parent_session_id": "alpha"}, "fork", None),
    ],
)
def test_a_summary_says_where_a_session_came_from(
    content: dict[str, str], relation: str | None, parent: str | None
) -> None:
    facts = document(content).facts or {}
    assert (facts.get("relation"), facts.get("parent")) == (relation, parent)


def test_what_a_parent_knows_of_a_subagent_is_about_the_subagent() -> None:
    content = {"child_session_id": "child", "parent_session_id": "alpha", "description": "Look"}
    record = document(content, agent="child")
    assert (record.session, record.parent_session) == ("child", "alpha")
    assert record.facts == {"agent_name": "Look"}


@pytest.mark.parametrize("odd", [b"[]", b"{", b"7", b'{"info":[],"session_kind":{}}', b"\xff"])
def test_an_odd_document_is_a_problem_or_says_nothing(odd: bytes) -> None:
    record = document(odd)
    assert record.problem == "malformed document" or not any((record.facts or {}).values())
