"""The same native id with other content is another event, never a copy, and it is a problem."""

import json
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from on_a_server import HERE

from session_memory.core.schema import SessionEvent
from session_memory.derive import derivation, same_ids, stale_sessions
from session_memory.derive.contents import content_of
from session_memory.derive.same_ids import OTHER_CONTENT
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, Json, call, line_of
from session_memory.testing.codex import LEGACY, PAGINATED, CodexHome
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    inherited_by,
    rebuilt,
)
from session_memory.testing.grok import GrokHome

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.

LONG_AGO = "1999-01-01T00:00:00Z"


def said(store: Store, uid: str) -> list[str]:
    return [event.summary for event in events_of(store, uid)]


def held(store: Store, uid: str) -> list[tuple[str, str]]:
    """What a session inherited: the owner and the words."""
    return [(event.session_uid, event.summary) for _, event in inherited_by(store, uid)]


def record(log: ClaudeLog, number: int = 0) -> Json:
    found: Json = json.loads(log.lines[number])
    return found


def with_words(line: Json, words: str, **fields: object) -> Json:
    """A line with other words and other fields, and the same id."""
    return {**line, "message": {**line["message"], "content": words}, **fields}


def steal(log: ClaudeLog, line: Json, words: str, **fields: object) -> None:
    log.add(with_words(line, words, sessionId=log.session, timestamp=LONG_AGO, **fields))


def in_both_orders(claude: ClaudeHome, logs: Iterable[ClaudeLog]) -> Store:
    """The store of all logs at once. Each order of arrival, and a rebuild, must give the same."""
    logs = list(logs)
    store = collected(claude.write(logs))
    check_sound(store)
    found = contents(store)
    for order in (logs, logs[::-1]):
        for path in claude.path.rglob("*.jsonl"):
            path.unlink()
        with collected(claude.write(order[:1])) as other:
            for log in order[1:]:
                collect(other, claude.write([log]))
            check_same(found, contents(other))
            check_same(found, contents(rebuilt(other)))
            check_sound(other)
    return store


def other_contents(store: Store) -> list[tuple[str, int, str]]:
    """The file, the place and the words of each such problem."""
    problems = [one for one in store.problems.every() if one.reason == OTHER_CONTENT]
    assert len(problems) == len(store.problems.every())
    return [(Path(one.path).stem, one.place, one.detail) for one in problems]


def test_a_prompt_cannot_be_stolen_by_a_line_of_1999(claude: ClaudeHome) -> None:
    victim, thief = claude.session("honest"), claude.session("thief")
    uuid = victim.prompt("delete nothing")
    victim.answer("as you wish")
    steal(thief, record(victim), "delete everything")
    with in_both_orders(claude, [victim, thief]) as store:
        assert said(store, "claude:honest") == ["delete nothing", "as you wish"]
        assert said(store, "claude:thief") == ["delete everything"]
        assert [event.event_uid for event in events_of(store, "claude:honest")][0] == f"{uuid}:0"
        assert not held(store, "claude:honest") and not held(store, "claude:thief")
        assert [store.sessions.get(uid).relation for uid in store.sessions.uids()] == [None] * 2  # type: ignore[union-attr]
        [(file, place, detail)] = other_contents(store)
        assert (file, place) == ("thief", 0)
        path = next(row.path for row in store.sources.every() if "honest" in row.path)
        other = f"claude:honest (byte 0 of {path})"
        assert detail == f"claude:thief: the record {uuid} has other content than in {other}"


def block_of(line: Json, **fields: object) -> Json:
    message = line["message"]
    return {**line, "message": {**message, "content": [{**message["content"][0], **fields}]}}


@pytest.mark.parametrize(
    ("number", "fields", "mine", "theirs"),
    [
        (1, {"text": "I will not"}, "I look", "I will not"),
        pytest.param(2, {"input": {"command": "rm -r /"}}, "ls", "rm -r /", marks=HERE),
        pytest.param(3, {"content": "nothing"}, "a file", "nothing", marks=HERE),
        pytest.param(3, {"is_error": True}, "a file", "a file", marks=HERE),
    ],
)
def test_an_answer_a_call_and_a_result_cannot_be_stolen(
    claude: ClaudeHome, number: int, fields: Json, mine: str, theirs: str
) -> None:
    victim, thief = claude.session("victim"), claude.session("thief")
    victim.prompt("look around")
    victim.answer("I look", call("Bash", command="ls"))
    victim.result("a file")
    line = {**block_of(record(victim, number), **fields), "timestamp": LONG_AGO}
    line["message"] = {**line["message"], "id": "msg_of_the_thief"}
    thief.add({**line, "sessionId": "thief"})
    with in_both_orders(claude, [victim, thief]) as store:
        assert said(store, "claude:victim")[number] == mine
        assert said(store, "claude:thief") == [theirs]
        assert len(other_contents(store)) == 1


def test_a_second_line_with_the_same_id_in_one_session_stays_visible(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    uuid = log.prompt("one")
    log.answer("one!")
    log.add(with_words(record(log), "two"))
    log.add(with_words(record(log), "three"))
    log.add(with_words(record(log), "two"))
    log.line("user", message={"role": "user", "content": "below"}, parentUuid=uuid)
    store = collected(claude.write())
    check_sound(store)
    with store:
        assert said(store, log.uid) == ["one", "one!", "two", "three", "below"]
        events = events_of(store, log.uid)
        assert events[0].event_uid == f"{uuid}:0"
        assert {event.native_id for event in (events[0], *events[2:4])} == {uuid}
        # The first record of an id keeps the children of that id.
        assert events[4].parent_seq == 0
        places = [sum(map(len, log.lines[:n])) for n in (2, 3)]
        assert [place for _, place, _ in other_contents(store)] == places
        assert all(f"than in {log.uid} (byte 0 of" in one[2] for one in other_contents(store))
        for line in range(len(log.lines)):
            _check_growing(claude, log, line, store)
        check_same(contents(store), contents(rebuilt(store)))


def _check_growing(claude: ClaudeHome, log: ClaudeLog, first: int, expected: Store) -> None:
    """The log arrives in two parts, cut after ``first`` lines."""
    whole = log.lines[:]
    log.lines = whole[:first]
    with collected(claude.write()) as store:
        log.lines = whole
        collect(store, claude.write())
        check_same(contents(expected), contents(store))


def test_children_that_come_later_hang_on_the_record_of_their_own_session(
    claude: ClaudeHome,
) -> None:
    first, second = claude.session("first"), claude.session("second")
    uuid = first.prompt("mine")
    steal(second, record(first), "also mine")
    with collected(claude.write()) as store:
        for log in (first, second):
            log.head = uuid
            log.prompt("the next")
        collect(store, claude.write())
        for log, words in ((first, "mine"), (second, "also mine")):
            events = events_of(store, log.uid)
            assert [event.summary for event in events] == [words, "the next"]
            assert events[1].parent_seq == events[0].seq
        check_same(contents(store), contents(rebuilt(store)))


def test_a_log_may_copy_one_half_honestly_and_steal_the_other(claude: ClaudeHome) -> None:
    victim = claude.session("victim")
    for word in ("one", "two", "three", "four"):
        victim.prompt(word)
    thief = claude.session("thief")
    for number in range(4):
        line = {**record(victim, number), "sessionId": "thief"}
        thief.add(line if number % 2 else with_words(line, f"stolen {number}"))
    fork = claude.fork(victim, "fork")
    fork.prompt("five")
    with in_both_orders(claude, [victim, thief, fork]) as store:
        everything = {
            event.summary for uid in store.sessions.uids() for event in visible(store, uid)
        }
        assert everything >= {"one", "two", "three", "four", "five", "stolen 0", "stolen 2"}
        for uid in ("claude:victim", "claude:fork"):
            words = [event.summary for event in visible(store, uid)]
            assert words[:4] == ["one", "two", "three", "four"]
        assert [e.summary for e in visible(store, "claude:thief")] == [
            "stolen 0",
            "two",
            "stolen 2",
            "four",
        ]
        assert len(other_contents(store)) == 2


def visible(store: Store, uid: str) -> list[SessionEvent]:
    """The events of a session, inherited ones included, in order."""
    own = [(event.seq, event) for event in events_of(store, uid)]
    return [event for _, event in sorted([*own, *inherited_by(store, uid)], key=lambda one: one[0])]


def test_a_copy_may_change_its_envelope_and_its_white_space(claude: ClaudeHome) -> None:
    origin = claude.session("origin")
    origin.prompt("one")
    origin.answer("one!", call("Bash", command="ls", timeout=3))
    fork = claude.session("fork")
    for line in map(json.loads, origin.lines):
        changed = {
            **dict(reversed(line.items())),
            "sessionId": "fork",
            "timestamp": "2031-01-01T00:00:00Z",
            "cwd": "/elsewhere",
            "version": "9.9.9",
            "gitBranch": "other",
            "parentUuid": None,
            "isSidechain": False,
        }
        fork.raw(json.dumps(changed, indent=None, separators=(" ,  ", " :  ")).encode() + b"\n")
    fork.prompt("two")
    with in_both_orders(claude, [origin, fork]) as store:
        assert said(store, "claude:origin") == ["one", "one!", "ls"]
        assert said(store, "claude:fork") == ["two"]
        assert not store.problems.every()


def test_the_id_of_a_subagents_record_cannot_be_stolen(claude: ClaudeHome) -> None:
    parent = claude.session("parent")
    parent.prompt("start it")
    child = claude.subagent(parent, "a1")
    child.answer("found it", id="msg_child")
    thief = claude.session("thief")
    line = block_of(record(child), text="found nothing")
    thief.add({**line, "sessionId": "thief", "isSidechain": False, "timestamp": LONG_AGO})
    with in_both_orders(claude, [parent, child, thief]) as store:
        assert said(store, child.uid) == ["found it"]
        assert said(store, "claude:thief") == ["found nothing"]


def test_three_sessions_with_one_id_are_three_events_and_two_problems(claude: ClaudeHome) -> None:
    first = claude.session("first")
    first.prompt("one")
    others = [claude.session(name) for name in ("second", "third")]
    for log in others:
        steal(log, record(first), log.session)
    with in_both_orders(claude, [first, *others]) as store:
        assert said(store, "claude:first") == ["one"]
        for log in others:
            assert said(store, log.uid) == [log.session]
        assert len(other_contents(store)) == 2


def test_a_rewritten_line_is_shown_with_its_old_and_its_new_content(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("before")
    log.prompt("stays")
    with collected(claude.write()) as store:
        log.lines[0] = line_of(with_words(record(log), "afterwards"))
        collect(store, claude.write())
        assert sorted(said(store, log.uid)) == ["afterwards", "before", "stays"]
        assert len(other_contents(store)) == 1
        check_sound(store)
        check_same(contents(store), contents(rebuilt(store)))


def test_a_problem_is_listed_once_however_often_the_sessions_are_derived(
    claude: ClaudeHome,
) -> None:
    victim, thief = claude.session("victim"), claude.session("thief")
    victim.prompt("one")
    steal(thief, record(victim), "other")
    with collected(claude.write()) as store:
        assert len(other_contents(store)) == 1
        with store.transaction():
            for uid in store.sessions.uids():
                row = store.sessions.row(uid)
                assert row is not None
                store.sessions.mark_stale(row.id)
        before = store.problems.added
        stale_sessions.derive_stale(store, 0, lambda repo, cwd: None)
        assert len(other_contents(store)) == 1
        assert store.problems.added == before


@pytest.mark.only("sqlite")
def test_a_log_that_uses_one_id_for_every_line_is_read_once(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("number 0")
    for number in range(1, 1500):
        log.add(with_words(record(log), f"number {number}"))
    reads = Mock(side_effect=content_of)
    with patch.object(same_ids, "content_of", reads), collected(claude.write()) as store:
        # Once to compare, once to find the place, once to write.
        assert reads.call_count == 3 * 1500
        assert said(store, log.uid) == [f"number {number}" for number in range(1500)]
        assert len({event.event_uid for event in events_of(store, log.uid)}) == 1500
        assert len(other_contents(store)) == 1499


@pytest.mark.parametrize("generation", (LEGACY, PAGINATED))
def test_a_call_and_a_result_of_codex_cannot_be_stolen(tmp_path: Path, generation: str) -> None:
    codex = CodexHome(tmp_path / "home")
    victim = codex.session("victim", generation)
    victim.turn("look around")
    victim.shell("ls")
    victim.result("a file")
    victim.answer("there is a file")
    thief = codex.session("thief", generation)
    for line in victim.lines[1:]:
        changed = json.loads(line)
        payload = changed["payload"]
        if payload.get("type") == "function_call":
            payload["arguments"] = json.dumps({"cmd": "rm -r /"})
        elif payload.get("type") == "function_call_output":
            payload["output"] = "nothing"
        thief.line(changed["type"], payload, after_ms=-100_000)
    with collected(codex.write()) as store:
        check_sound(store)
        texts = {uid: [e.summary for e in visible(store, uid)] for uid in (victim.uid, thief.uid)}
        assert {"look around", "ls", "a file", "there is a file"} <= set(texts[victim.uid])
        assert {"look around", "rm -r /", "nothing", "there is a file"} <= set(texts[thief.uid])
        assert len(other_contents(store)) == 2
        check_same(contents(store), contents(rebuilt(store)))


def test_a_prompt_of_grok_cannot_be_stolen(tmp_path: Path) -> None:
    grok = GrokHome(tmp_path / "home")
    victim = grok.session("victim")
    victim.prompt("delete nothing")
    victim.say("as you wish")
    thief = grok.session("thief")
    line = json.loads(json.dumps(victim.lines[0]))
    line["params"]["sessionId"] = "thief"
    line["params"]["update"]["content"]["text"] = "delete everything"
    thief.lines.append(line)
    grok.fork(victim, "fork").prompt("go on")
    with collected(grok.write()) as store:
        check_sound(store)
        assert said(store, "grok:victim") == ["delete nothing", "as you wish"]
        assert said(store, "grok:thief") == ["delete everything"]
        assert said(store, "grok:fork") == ["go on"]
        assert len(other_contents(store)) == 1


def test_a_repeated_line_with_the_same_content_derives_nothing(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("one")
    log.answer("one!")
    with collected(claude.write()) as store:
        log.raw(log.lines[0])
        with patch.object(derivation, "Derivation", side_effect=AssertionError("derived")):
            collect(store, claude.write())
        assert said(store, log.uid) == ["one", "one!"]
        check_sound(store)
        assert not store.problems.every()
