"""Grok sessions in a store: what people do, what goes wrong, and where sessions come from."""

from functools import partial
from pathlib import Path

import pytest

from session_memory.derive.bodies import Bodies
from session_memory.store import Store, open_store
from session_memory.store.word_query import QueryWord, WordQuery
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    inherited_by,
    rebuilt,
)
from session_memory.testing.grok import GrokHome, GrokLog, bash, used

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture
def home(tmp_path: Path) -> GrokHome:
    return GrokHome(tmp_path / "home")


@pytest.fixture
def log(home: GrokHome) -> GrokLog:
    return home.session("main")


def texts(store: Store, uid: str = "grok:main", kind: str = "user_msg") -> list[str]:
    return [event.summary for event in events_of(store, uid) if event.is_a(kind)]


def a_turn(log: GrokLog, prompt: str, output: int) -> None:
    log.prompt(prompt)
    log.say(f"done: {prompt}")
    log.turn_ended(used(100, output))


def test_a_message_in_chunks_is_shown_whole(home: GrokHome, log: GrokLog) -> None:
    log.prompt("hello")
    for part in ("Good", " mor", "ning."):
        log.say(part)
    with collected(home.write()) as store:
        check_sound(store)
        assert texts(store, kind="assistant_msg") == ["Good morning."]


BETWEEN = {
    "a broken line": b'{"timestamp": NaN',
    "blank lines": b"\n   \n",
    "bookkeeping": b'{"params":{"sessionId":"main","update":{"sessionUpdate":"memory_files"}}}',
    "a chunk of another session": b"",
}


@pytest.mark.parametrize("speaker", ["agent", "person"])
@pytest.mark.parametrize("between", BETWEEN)
def test_what_is_between_two_chunks_hides_neither(
    home: GrokHome, log: GrokLog, speaker: str, between: str
) -> None:
    if speaker == "agent":
        log.prompt("hello")
    chunk = log.say if speaker == "agent" else partial(log.prompt, promptIndex=0)
    chunk("Firstword.")
    log.lines.append({"between": True})
    chunk("Secondword.")
    place = home.write()
    file = home.path / log.place / "updates.jsonl"
    lines = file.read_bytes().splitlines()
    at = next(number for number, line in enumerate(lines) if b"between" in line)
    other = lines[at - 1].replace(b'"main', b'"other').replace(b"First", b"Other")
    lines[at] = BETWEEN[between] or other
    file.write_bytes(b"\n".join(lines) + b"\n")
    with collected(place) as store:
        check_sound(store)
        shown = "".join(Bodies(store).of(one).text for one in events_of(store, "grok:main"))
        assert shown.count("Firstword.") == shown.count("Secondword.") == 1
        for word in ("firstword", "secondword"):
            assert len(store.index.find(WordQuery(((QueryWord(word),),)), limit=9)) == 1, word
        if not BETWEEN[between]:
            assert [one.summary for one in events_of(store, "grok:other")] == ["Otherword."]
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before


def test_a_fork_holds_what_it_was_copied_from_and_counts_its_own(
    home: GrokHome, log: GrokLog
) -> None:
    a_turn(log, "one", 10)
    fork = home.fork(log, "fork")
    a_turn(log, "two", 20)
    a_turn(fork, "another two", 30)
    with collected(home.write()) as store:
        check_sound(store)
        session = store.sessions.get("grok:fork")
        assert session is not None
        assert (session.parent_uid, session.relation) == ("grok:main", "fork")
        assert texts(store, "grok:fork") == ["another two"]
        assert [e.summary for _, e in inherited_by(store, "grok:fork")][:1] == ["one"]
        assert session.cost.output_tokens == 30
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before


def test_a_fork_found_before_its_origin_is_the_same(home: GrokHome, log: GrokLog) -> None:
    a_turn(log, "one", 10)
    fork = home.fork(log, "fork")
    a_turn(fork, "two", 30)
    with collected(home.write()) as both_at_once, open_store(":memory:") as store:
        other = GrokHome(home.path.parent / "other")
        other.logs = home.logs
        for part in (fork, log):
            collect(store, other.write([part]))
        assert {u: texts(store, u) for u in store.sessions.uids()} == {
            u: texts(both_at_once, u) for u in both_at_once.sessions.uids()
        }


def test_what_a_person_went_back_behind_is_an_abandoned_branch(
    home: GrokHome, log: GrokLog
) -> None:
    a_turn(log, "one", 1)
    a_turn(log, "two", 2)
    log.rewind(1)
    a_turn(log, "two, better", 3)
    with collected(home.write()) as store:
        check_sound(store)
        events = events_of(store, "grok:main")
        left = [event.summary for event in events if event.branch and event.is_a("user_msg")]
        assert left == ["two"]
        assert [e.kind for e in events if e.native_kind == "rewind_marker"] == [
            "human_intervention"
        ]
        session = store.sessions.get("grok:main")
        assert session is not None and session.cost.output_tokens == 6


def test_an_interrupted_turn_is_an_intervention_and_the_next_prompt_too(
    home: GrokHome, log: GrokLog
) -> None:
    log.prompt("write a long text")
    log.say("Once upon")
    log.turn_ended(stop="interrupted")
    a_turn(log, "shorter", 4)
    with collected(home.write()) as store:
        check_sound(store)
        interventions = [e for e in events_of(store, "grok:main") if e.is_a("human_intervention")]
        assert [e.native_kind for e in interventions] == [
            "turn_completed/interrupted",
            "user_message_chunk/prompt",
        ]
        assert texts(store) == ["write a long text", "shorter"]


def test_a_refused_call_is_an_error_that_a_person_made(home: GrokHome, log: GrokLog) -> None:
    log.prompt("delete everything")
    log.call("run_terminal_command", command="rm -rf build")
    log.reject("run_terminal_command")
    log.turn_ended(used(10, 2), stop="cancelled")
    with collected(home.write()) as store:
        (result,) = [e for e in events_of(store, "grok:main") if e.is_a("tool_result")]
        assert result.is_error and result.is_a("human_intervention")
        assert result.duration_ms == 10


def test_a_permission_that_a_person_gave_is_a_decision(home: GrokHome, log: GrokLog) -> None:
    log.prompt("build")
    log.moment("turn_started", yolo_mode=False)
    log.call("run_terminal_command", command="make")
    log.moment(
        "permission_resolved", tool_name="run_terminal_command", decision="allow", wait_ms=900
    )
    log.completed("run_terminal_command", duration_ms=77)
    log.result("ok", raw=bash("make", "ok"))
    with collected(home.write()) as store:
        (result,) = [e for e in events_of(store, "grok:main") if e.is_a("tool_result")]
        assert (result.marks, result.duration_ms, result.is_error) == (("decision",), 77, False)


def test_calls_that_fail_again_are_retries_and_answers_that_fail_are_too(
    home: GrokHome, log: GrokLog
) -> None:
    log.prompt("build")
    log.run("make", "no rule", exit_code=2)
    log.run("make", "no rule", exit_code=2)
    log.line("retry_state", own=True, type="retrying", attempt=1, max_retries=3, reason="529")
    log.turn_ended(used(10, 1), stop="error", agent_result="529")
    with collected(home.write()) as store:
        check_sound(store)
        session = store.sessions.get("grok:main")
        assert session is not None and session.cost.retries == 2


def test_a_subagents_prompt_is_nobodys_message(home: GrokHome, log: GrokLog) -> None:
    log.prompt("delegate")
    child = home.subagent(log, "child", "Look around")
    child.prompt("look")
    with collected(home.write()) as store:
        assert texts(store, "grok:child") == []
        session = store.sessions.get("grok:child")
        assert session is not None
        assert (session.relation, session.parent_uid, session.cost.turns) == (
            "subagent",
            "grok:main",
            0,
        )
        assert session.title == "Look around"


def test_a_subagent_whose_parent_is_gone_is_still_one(home: GrokHome, log: GrokLog) -> None:
    child = home.subagent(log, "child", "Look around")
    child.prompt("look")
    with collected(home.write([child])) as store:
        assert texts(store, "grok:child") == []


def test_nested_subagents_say_how_deep_they_are(home: GrokHome, log: GrokLog) -> None:
    log.prompt("delegate")
    child = home.subagent(log, "child", "a")
    child.prompt("delegate further")
    home.subagent(child, "grandchild", "b").prompt("look")
    with collected(home.write()) as store:
        depths = {s.native_session_id: s.spawn_depth for s in store.sessions.every()}
    assert depths == {"main": 0, "child": 1, "grandchild": 2}


def test_a_title_that_a_person_gave_wins(home: GrokHome, log: GrokLog) -> None:
    log.prompt("hello")
    log.line("session_summary_generated", own=True, session_summary="Greetings")
    log.summary |= {"generated_title": "My own name", "title_is_manual": True}
    with collected(home.write()) as store:
        session = store.sessions.get("grok:main")
        assert session is not None and session.title == "My own name"


def test_files_that_are_rewritten_are_kept_as_they_are_now(home: GrokHome, log: GrokLog) -> None:
    log.prompt("hello")
    log.files["chat_history.jsonl"] = b'{"type":"user"}\n' * 3
    with collected(home.write()) as store:
        log.files["chat_history.jsonl"] = b'{"type":"compacted"}\n'
        log.summary["generated_title"] = "Greetings"
        log.say("hi")
        collect(store, home.write())
        check_sound(store)
        session = store.sessions.get("grok:main")
        assert session is not None and session.title == "Greetings"
        newest = [
            b"".join(store.raw.pieces(row.id))
            for row in store.sources.every()
            if row.path.endswith("chat_history.jsonl") and not row.superseded
        ]
        assert newest == [b'{"type":"compacted"}\n']


def test_lines_that_come_one_by_one_give_the_same_store(home: GrokHome, log: GrokLog) -> None:
    log.prompt("build")
    log.moment("turn_started", yolo_mode=False)
    log.say("I ")
    log.say("build.")
    log.run("make", "no rule", exit_code=2)
    log.completed("run_terminal_command", "error", 5)
    log.interject("use ninja")
    log.run("ninja", "ok")
    log.completed("run_terminal_command", "success", 5)
    log.turn_ended(used(10, 1))
    log.rewind(0)
    a_turn(log, "build, quietly", 3)
    whole = list(log.lines)
    with collected(home.write()) as at_once, open_store(":memory:") as store:
        for count in range(1, len(whole) + 1):
            log.lines = whole[:count]
            collect(store, home.write())
        check_sound(store)
        assert store.fingerprint() == at_once.fingerprint()
