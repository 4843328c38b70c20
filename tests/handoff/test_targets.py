"""A session of each agent, handed over to each other agent and collected there."""

from pathlib import Path

import pytest

from session_memory import Memory
from session_memory.core.errors import CannotHandOver
from session_memory.handoff import Handoff, HandoffOptions, hand_over, targets, write
from session_memory.handoff.conversation import StoredAnswer, conversation_of
from session_memory.redact import mask
from session_memory.testing.stores import Stores
from session_memory.views.transcript_items import TranscriptEvent

DATA = Path(__file__).parent.parent / "data"
SOURCES = ("claude", "codex", "copilot", "gemini", "grok", "pi", "qwen")
GO_ON = "Go on here: add a line and count them."
ORIGINS = {"claude": "codex:"}
AT = 1_790_000_000_000


def handed(memory: Memory, to: str, home: Path) -> Handoff:
    uid = next(one.uid for one in memory.sessions() if one.record.relation is None)
    options = HandoffOptions(cwd="/home/mira/code/demo")
    made = hand_over(memory.store, uid, to, options, AT, {"HOME": str(home)})
    if made.import_argv:
        # The program takes a document in that it would export, too.
        (document,) = made.files
        (home / "exported").mkdir()
        (home / "exported" / document.path.name).write_bytes(document.content)
    else:
        write(made)
    return made


def counted(memory: Memory) -> tuple[object, ...]:
    """Everything that must not count twice."""
    costs = [one.record.cost for one in memory.sessions()]
    events = [event for one in memory.sessions() for event in one.events]
    kinds = sorted(event.kind for event in events if event.kind != "lifecycle")
    calls = [event for event in events if event.call_id]
    tokens = sum(cost.input_tokens + cost.output_tokens + cost.cache_tokens for cost in costs)
    return tokens, sum(cost.turns for cost in costs), kinds, len(calls)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("source", SOURCES)
def test_every_target_keeps_the_totals_and_names_its_origin(source: str, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[DATA / source / "basic"])
        before = counted(memory)
        found = []
        for to in targets():
            made = handed(memory, to, tmp_path)
            found.append((made.session_uid, "handoff", made.origin))
        memory.sync(roots=[tmp_path, tmp_path / "exported"])
        assert counted(memory) == before
        assert not memory.problems().problems
        stored = {one.uid: one.record for one in memory.sessions()}
        assert found == [(uid, stored[uid].relation, stored[uid].parent_uid) for uid, _, _ in found]


def test_a_handed_session_is_placed_on_both_databases(stores: Stores, tmp_path: Path) -> None:
    with Memory(stores.place("memory")) as memory:
        memory.sync(roots=[DATA / "codex" / "basic"])
        made = handed(memory, "claude", tmp_path)
        memory.sync(roots=[tmp_path])
        session = memory.session(made.session_uid)
        assert (session.record.relation, session.record.parent_uid) == ("handoff", made.origin)
        assert {event.kind for event in session.events} == {"lifecycle"}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("to", SOURCES)
def test_what_the_real_agent_adds_counts(to: str, tmp_path: Path) -> None:
    """Logs of the real agents after they continued a session of Claude Code."""
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[DATA / "handoff" / to])
        (session,) = memory.sessions()
        events = list(session.events)
        assert session.record.relation == "handoff"
        assert (session.record.parent_uid or "").startswith(ORIGINS.get(to, "claude:"))
        assert [one.summary for one in events if one.is_a("user_msg")] == [GO_ON]
        assert sum(one.is_a("tool_call") for one in events) == 3
        assert sum(one.is_a("tool_result") for one in events) == 3
        assert session.record.cost.turns == 1
        assert session.record.cost.output_tokens > 0
        shown = [one.text for one in session.transcript() if isinstance(one, TranscriptEvent)]
        assert GO_ON in shown[:2]  # Claude Code may answer the note of the handoff first.


@pytest.mark.only("sqlite")
def test_a_session_that_was_handed_over_twice_is_whole(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[DATA / "claude" / "basic"])
        first = handed(memory, "codex", tmp_path)
        memory.sync(roots=[tmp_path])
        options = HandoffOptions()
        second = hand_over(
            memory.store, first.session_uid, "pi", options, AT, {"HOME": str(tmp_path)}
        )
        assert (second.calls, second.prompts) == (first.calls, first.prompts)


@pytest.mark.only("sqlite")
def test_the_source_is_not_touched_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[DATA / "claude" / "basic"])
        made = handed(memory, "claude", tmp_path)
        written = made.files[0].path.read_bytes()
        assert made.session_uid != made.origin
        with pytest.raises(CannotHandOver, match="exists already"):
            write(made)
        assert made.files[0].path.read_bytes() == written
        assert not list(made.files[0].path.parent.glob(".*"))


@pytest.mark.only("sqlite")
def test_every_call_has_its_result(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[DATA / "claude" / "interrupt"])
        for session in memory.sessions():
            steps = conversation_of(memory.store, session.uid, mask).steps
            answers = [step for step in steps if isinstance(step, StoredAnswer)]
            assert all(call.result for answer in answers for call in answer.calls)


@pytest.mark.only("sqlite")
def test_a_damaged_database_of_opencode_does_not_stop_a_handoff(tmp_path: Path) -> None:
    """It would only tell which model was used last."""
    root = tmp_path / ".local" / "share" / "opencode"
    root.mkdir(parents=True)
    (root / "opencode.db").write_bytes(b"SQLite format 3\0" + b"no page" * 1000)
    settings = tmp_path / ".config" / "opencode"
    settings.mkdir(parents=True)
    (settings / "opencode.json").write_text('{"model": "anthropic/claude-sonnet-5"}')
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[DATA / "claude" / "basic"])
        (document,) = handed(memory, "opencode", tmp_path).files
    assert b'"claude-sonnet-5"' in document.content
