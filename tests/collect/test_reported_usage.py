"""Usage of subagents that the parent's progress lines report: it counts once, wherever it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from clusters import derived_clusters

from session_memory.cli.lines.session_header import header
from session_memory.config import Config, RetentionConfig
from session_memory.core.schema import Usage
from session_memory.core.time import now_ms
from session_memory.retain.forget import forget
from session_memory.retain.restore import restore
from session_memory.retain.retention_run import retain
from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.claude_log import ClaudeLog
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    every_usage,
    new_store,
    rebuilt,
    usage_of,
)
from session_memory.views.cost_audit import audit
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import SessionStart, TranscriptOptions

pytestmark = pytest.mark.every(3)

LATER = 4_000_000_000_000


def message(id: str, used: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": id, "model": "claude-haiku-4-5", "role": "assistant", "usage": used, **fields}


def parent_of(claude: ClaudeHome, *ids: str, early: int = 1) -> ClaudeLog:
    """A session with a subagent ``a1`` that got some responses, as its progress lines say."""
    log = claude.session()
    log.prompt("delegate")
    log.answer(call("Task", prompt="look"), id="msg_parent", used=usage(10))
    for id in ids:
        log.progress(agent="a1", message=message(id, usage(early, input=5, read=100)))
    return log


def subagent_of(claude: ClaudeHome, log: ClaudeLog, *ids: str, output: int = 50) -> ClaudeLog:
    agent = claude.subagent(log, "a1", below=True)
    agent.prompt("look")
    for id in ids:
        agent.answer("looked", id=id, used=usage(output, input=5, read=100))
    return agent


def counted(store: Store) -> dict[str, tuple[str, int, bool]]:
    check_sound(store)
    return {
        used.usage_id: (used.session_uid.rpartition(":")[2], used.output_tokens, used.reported)
        for used in every_usage(store)
    }


def test_a_response_that_only_progress_lines_report_counts_for_the_session_that_reports_it(
    claude: ClaudeHome,
) -> None:
    log = parent_of(claude, "msg_1", "msg_1", "msg_2")
    log.result("looked", details={"agentId": "a1"})
    with collected(claude.write()) as store:
        assert counted(store) == {
            "msg_parent": ("alpha", 10, False),
            "msg_1": ("alpha", 1, True),
            "msg_2": ("alpha", 1, True),
        }
        # It belongs to the call that started the subagent, and is no output of the parent.
        task = next(event for event in events_of(store, log.uid) if event.call_id)
        assert {used.seq for used in usage_of(store, log.uid)} == {task.seq}
        assert sum(event.tokens for event in events_of(store, log.uid)) == 10
        shown = {one["usage_id"]: one for one in audit(store, log.uid).to_dict()["records"]}
        assert [id for id in shown if shown[id].get("reported")] == ["msg_1", "msg_2"]
        assert shown["msg_1"]["event_uid"] == task.event_uid


def test_a_progress_line_that_holds_no_response_reports_nothing(claude: ClaudeHome) -> None:
    log = parent_of(claude)
    for odd in (
        {"id": "msg_1", "model": "<synthetic>", "usage": usage(9)},
        {"model": "opus", "usage": usage(9)},
        {"id": "msg_2", "model": "opus"},
        {"id": "msg_3", "usage": usage(9)},
    ):
        log.progress(agent="a1", message=odd)
    for data in ('"usage"', ['"usage"'], {"type": "user", "message": message("msg_4", usage(9))}):
        log.line("progress", data={"type": "agent_progress", "message": data})
        log.line("progress", data={"type": "x", "normalizedMessages": data})
    log.line(
        "progress",
        data={
            "type": "agent_progress",
            "normalizedMessages": [
                {"type": "assistant", "message": message("msg_5", usage(7))},
                {"type": "assistant", "message": message("msg_6", usage(8))},
            ],
        },
    )
    with collected(claude.write()) as store:
        assert {id: count[1] for id, count in counted(store).items()} == {
            "msg_parent": 10,
            "msg_5": 7,
            "msg_6": 8,
        }


@pytest.mark.parametrize("subagent_first", [True, False])
def test_the_usage_moves_to_the_subagents_own_log(claude: ClaudeHome, subagent_first: bool) -> None:
    log = parent_of(claude, "msg_1", "msg_2")
    agent = subagent_of(claude, log, "msg_1")
    root = claude.write()
    paths = [root / log.place, root / agent.place]
    with collected(root) as store:
        expected = contents(store)
        assert counted(store) == {
            "msg_parent": ("alpha", 10, False),
            "msg_1": ("a1", 50, False),
            "msg_2": ("alpha", 1, True),
        }
        check_same(expected, contents(rebuilt(store)))
    bodies = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    with new_store() as store, derived_clusters() as derived:
        for path in reversed(paths) if subagent_first else paths:
            path.write_bytes(bodies[path])
            collect(store, root)
            check_sound(store)
        check_same(expected, contents(store))
        assert derived == []


def test_forgetting_the_subagent_lets_the_report_count_again(claude: ClaudeHome) -> None:
    log = parent_of(claude, "msg_1", "msg_2")
    agent = subagent_of(claude, log, "msg_1")
    with collected(claude.write()) as store:
        forget(store, Config(), [agent.uid], now_ms())
        assert counted(store)["msg_1"] == ("alpha", 1, True)
        before = contents(store)
        check_same(before, contents(rebuilt(store)))


def test_an_evicted_parent_gives_its_report_away_and_gets_it_back(
    claude: ClaudeHome, tmp_path: Path
) -> None:
    config = Config(retention=RetentionConfig(archive_dir=str(tmp_path / "archive")))
    log = parent_of(claude, "msg_1")
    with collected(claude.write()) as store:
        alone = contents(store)
        with store.transaction():
            store.db.execute("update sessions set analyzed_revision = revision")
        assert retain(store, config, LATER, lambda uids: None).report.backstop_evicted == 1
        agent = subagent_of(claude, log, "msg_1")
        collect(store, claude.write())
        assert {id: count[0] for id, count in counted(store).items()} == {
            "msg_parent": "alpha",
            "msg_1": "a1",
        }
        forget(store, config, [agent.uid], now_ms())
        assert counted(store)["msg_1"] == ("alpha", 1, True)
        restore(store, config, [log.uid], now_ms())
        check_same(alone, contents(store))


def test_a_fork_of_the_parent_repeats_the_report_and_counts_nothing(claude: ClaudeHome) -> None:
    log = parent_of(claude, "msg_1")
    log.result("looked")
    fork = claude.fork(log, "beta")
    fork.prompt("and now?")
    fork.answer("more", id="msg_3", used=usage(5))
    root = claude.write()
    with collected(root) as store:
        assert counted(store) == {
            "msg_parent": ("alpha", 10, False),
            "msg_1": ("alpha", 1, True),
            "msg_3": ("beta", 5, False),
        }
        forget(store, Config(), [log.uid], now_ms())
        assert counted(store)["msg_1"] == ("beta", 1, True)
    subagent_of(claude, log, "msg_1")
    with collected(claude.write()) as store:
        assert counted(store)["msg_1"] == ("a1", 50, False)


@pytest.mark.every(1)
def test_a_report_that_a_fork_writes_again_counts_once_for_the_parent(claude: ClaudeHome) -> None:
    log = parent_of(claude, "msg_1")
    fork = claude.fork(log, "beta")
    # A line of its own, no copy of the parent's.
    fork.progress(agent="a1", message=message("msg_1", usage(9, input=5, read=100)))
    with collected(claude.write()) as store:
        assert counted(store) == {
            "msg_parent": ("alpha", 10, False),
            "msg_1": ("alpha", 9, True),
        }
        forget(store, Config(), [log.uid], now_ms())
        assert counted(store)["msg_1"] == ("beta", 9, True)


def test_a_session_that_logs_and_reports_a_response_counts_what_it_logged(
    claude: ClaudeHome,
) -> None:
    log = parent_of(claude, "msg_1", early=90)
    log.answer("looked", id="msg_1", used=usage(50), isSidechain=True)
    root = claude.write()
    with collected(root) as store:
        assert counted(store)["msg_1"] == ("alpha", 50, False)
        log.progress(agent="a1", message=message("msg_1", usage(95)))
        collect(store, claude.write())
        assert counted(store)["msg_1"] == ("alpha", 50, False)


def test_a_parent_and_its_subagent_can_be_followed_without_deriving_anything_again(
    claude: ClaudeHome,
) -> None:
    log = parent_of(claude)
    agent = subagent_of(claude, log)
    collect_into = claude.write()
    with new_store() as store:
        collect(store, collect_into)
        with derived_clusters() as derived:
            for number in range(12):
                id = f"msg_{number}"
                first, second = (log, agent) if number % 2 else (agent, log)
                for one in (first, second):
                    if one is log:
                        log.progress(agent="a1", message=message(id, usage(1)))
                    else:
                        agent.answer("looked", id=id, used=usage(50))
                    collect(store, claude.write())
            assert derived == []
        assert {count[:2] for count in counted(store).values()} == {("alpha", 10), ("a1", 50)}
        with collected(claude.write()) as at_once:
            check_same(contents(at_once), contents(store))


def test_usage_says_that_it_was_reported_only_if_it_was() -> None:
    plain = Usage(session_uid="claude:a", usage_id="msg_1")
    assert "reported" not in plain.to_dict()
    told = Usage(session_uid="claude:a", usage_id="msg_1", reported=True)
    assert json.loads(told.to_json())["reported"] is True
    assert Usage.from_dict(told.to_dict()) == told
    assert plain != told


def test_the_header_of_a_transcript_counts_the_reported_responses(claude: ClaudeHome) -> None:
    log = parent_of(claude, "msg_1", "msg_2")
    with collected(claude.write()) as store:
        start = next(iter(Transcript(store, TranscriptOptions()).items(log.uid)))
        assert isinstance(start, SessionStart)
        words = [line for line in header(start, str, None) if "reports" in line]
        assert [" ".join(line.split()) for line in words] == [
            "counted with 2 responses of subagents that only this log reports"
        ]
