"""Copied history: one event that several sessions hold, stored once, with one owner."""

import json

import pytest
from on_a_server import orders_for

from session_memory.core.schema import Cost
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    every_usage,
    inherited_by,
    new_store,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


def said(store: Store, uid: str) -> list[str]:
    return [event.summary for event in events_of(store, uid)]


def holds(store: Store, uid: str) -> list[tuple[int, str, str]]:
    """What a session inherited: its seq there, its owner, its words."""
    return [(seq, event.session_uid, event.summary) for seq, event in inherited_by(store, uid)]


def related(store: Store, uid: str) -> tuple[str | None, str | None]:
    session = store.sessions.get(uid)
    assert session is not None
    return session.parent_uid, session.relation


def talk(log: ClaudeLog, *words: str) -> ClaudeLog:
    """Prompts, each answered with its own echo; every answer is 10 tokens."""
    for word in words:
        log.prompt(word)
        log.answer(f"{word}!", id=f"msg_{word}", used=usage(10))
    return log


def in_every_order(claude: ClaudeHome) -> Store:
    """The store of all logs at once; every order of arrival must give the same."""
    claude.write()
    expected = collected(claude.path)
    check_sound(expected)
    found = contents(expected)
    for order in orders_for(expected, claude.logs):
        for path in claude.path.rglob("*.jsonl"):
            path.unlink()
        with collected(claude.write([order[0]])) as store:
            for log in order[1:]:
                collect(store, claude.write([log]))
            check_same(found, contents(store))
    return expected


# ------------------------------------------------------------ the four rules


def test_the_session_that_is_named_as_parent_owns_what_both_hold(claude: ClaudeHome) -> None:
    parent = talk(claude.session("zeta"), "one")
    child = claude.subagent(parent, "a1")
    for line in parent.lines:
        child.raw(line)
    child.answer("mine", id="msg_mine", used=usage(1))
    talk(parent, "two")
    with in_every_order(claude) as store:
        assert said(store, "claude:zeta") == ["one", "one!", "two", "two!"]
        assert holds(store, child.uid) == [(0, "claude:zeta", "one"), (1, "claude:zeta", "one!")]
        assert related(store, child.uid) == ("claude:zeta", "subagent")


def test_else_the_session_owns_whose_every_record_is_shared(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    talk(claude.fork(origin, "alpha"), "two")
    with in_every_order(claude) as store:
        assert said(store, "claude:zeta") == ["one", "one!"]
        assert said(store, "claude:alpha") == ["two", "two!"]
        assert holds(store, "claude:alpha") == [
            (0, "claude:zeta", "one"),
            (1, "claude:zeta", "one!"),
        ]
        assert related(store, "claude:alpha") == ("claude:zeta", "fork")


def test_else_the_session_owns_whose_first_own_record_is_earliest(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    fork = claude.fork(origin, "alpha")
    talk(origin, "two")
    talk(fork, "three")
    with in_every_order(claude) as store:
        assert said(store, "claude:zeta") == ["one", "one!", "two", "two!"]
        assert said(store, "claude:alpha") == ["three", "three!"]
        assert related(store, "claude:alpha") == ("claude:zeta", "fork")
        assert related(store, "claude:zeta") == (None, None)


def test_a_fork_that_went_on_first_owns_the_common_past(claude: ClaudeHome) -> None:
    """Nothing in the logs says which one is the copy, so the clock of the first step decides."""
    origin = talk(claude.session("zeta"), "one")
    fork = talk(claude.fork(origin, "alpha"), "two")
    talk(origin, "three")
    with in_every_order(claude) as store:
        assert said(store, fork.uid) == ["one", "one!", "two", "two!"]
        assert related(store, "claude:zeta") == ("claude:alpha", "fork")


def test_else_the_smaller_uid_owns(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    claude.fork(origin, "alpha")
    with in_every_order(claude) as store:
        assert said(store, "claude:alpha") == ["one", "one!"]
        assert said(store, "claude:zeta") == []
        assert related(store, "claude:zeta") == ("claude:alpha", "fork")


def test_a_session_without_a_record_of_its_own_has_the_times_of_what_it_holds(
    claude: ClaudeHome,
) -> None:
    origin = talk(claude.session("zeta"), "one", "two")
    claude.fork(origin, "alpha")
    with in_every_order(claude) as store:
        times = {
            session.session_uid: (session.started_at, session.ended_at)
            for session in store.sessions.every()
        }
        assert times["claude:zeta"] == times["claude:alpha"]
        started, ended = times["claude:zeta"]
        assert started is not None and ended is not None and started < ended


# ------------------------------------------------------------ chains, and who moves on


def test_in_a_chain_of_forks_each_owns_what_it_added(claude: ClaudeHome) -> None:
    first = talk(claude.session("zeta"), "one")
    second = talk(claude.fork(first, "mu"), "two")
    talk(claude.fork(second, "alpha"), "three")
    with in_every_order(claude) as store:
        assert said(store, "claude:zeta") == ["one", "one!"]
        assert said(store, "claude:mu") == ["two", "two!"]
        assert said(store, "claude:alpha") == ["three", "three!"]
        assert [owner for _, owner, _ in holds(store, "claude:alpha")] == [
            "claude:zeta",
            "claude:zeta",
            "claude:mu",
            "claude:mu",
        ]
        assert related(store, "claude:alpha") == ("claude:mu", "fork")
        assert related(store, "claude:mu") == ("claude:zeta", "fork")


def test_a_chain_of_forks_whose_origins_went_on_keeps_its_owners(claude: ClaudeHome) -> None:
    first = talk(claude.session("zeta"), "one")
    second = claude.fork(first, "mu")
    talk(first, "first goes on")
    talk(second, "two")
    third = claude.fork(second, "alpha")
    talk(second, "second goes on")
    talk(third, "three")
    with in_every_order(claude) as store:
        assert said(store, "claude:zeta")[:2] == ["one", "one!"]
        assert said(store, "claude:mu")[:2] == ["two", "two!"]
        assert said(store, "claude:alpha") == ["three", "three!"]


def test_forks_of_one_session_at_different_places_share_what_they_share(
    claude: ClaudeHome,
) -> None:
    origin = talk(claude.session("mid"), "one", "two")
    talk(claude.fork(origin, "early", lines=2), "three")
    talk(claude.fork(origin, "late"), "four")
    with in_every_order(claude) as store:
        assert said(store, "claude:mid") == ["one", "one!", "two", "two!"]
        assert [word for _, _, word in holds(store, "claude:early")] == ["one", "one!"]
        assert [word for _, _, word in holds(store, "claude:late")] == [
            "one",
            "one!",
            "two",
            "two!",
        ]


def test_the_owner_moves_when_a_better_one_appears(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    fork = talk(claude.fork(origin, "alpha"), "two")
    with collected(claude.write([fork])) as store:
        assert said(store, "claude:alpha") == ["one", "one!", "two", "two!"]
        collect(store, claude.write())
        check_sound(store)
        assert said(store, "claude:alpha") == ["two", "two!"]
        assert said(store, "claude:zeta") == ["one", "one!"]
        assert store.sessions.get("claude:alpha").cost.output_tokens == 10  # type: ignore[union-attr]


def test_the_origin_may_go_on_after_it_was_forked(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    talk(claude.fork(origin, "alpha"), "two")
    with collected(claude.write()) as store:
        talk(origin, "three")
        collect(store, claude.write())
        check_sound(store)
        with collected(claude.path) as fresh:
            check_same(contents(fresh), contents(store))


def test_versions_that_began_a_new_file_on_resume_give_a_resume(claude: ClaudeHome) -> None:
    first = talk(claude.session("first", version="1.0.31"), "one")
    talk(claude.fork(first, "second"), "two")
    with collected(claude.write()) as store:
        assert related(store, "claude:second") == ("claude:first", "resume")


def test_a_resume_in_the_same_file_is_the_same_session(claude: ClaudeHome) -> None:
    log = talk(claude.session(), "one")
    with collected(claude.write()) as store:
        log.clock.tick(86_400_000)
        talk(log, "two")
        collect(store, claude.write())
        [session] = store.sessions.every()
        assert related(store, session.session_uid) == (None, None)
        assert said(store, "claude:alpha") == ["one", "one!", "two", "two!"]


# ------------------------------------------------------------ what counts for whom


def test_the_sum_over_sessions_counts_every_response_once(claude: ClaudeHome) -> None:
    first = talk(claude.session("zeta"), "one", "two")
    second = talk(claude.fork(first, "mu"), "three")
    third = talk(claude.fork(second, "alpha", lines=3), "four")
    talk(claude.fork(third, "beta"), "five")
    talk(first, "six")
    with collected(claude.write()) as store:
        check_sound(store)
        total = sum((session.cost for session in store.sessions.every()), Cost())
        assert total.output_tokens == 60
        assert total.turns == 6
        assert sorted(used.usage_id for used in every_usage(store)) == sorted(
            f"msg_{word}" for word in ("one", "two", "three", "four", "five", "six")
        )


def test_a_response_logged_under_other_uuids_counts_once_and_shows_twice(
    claude: ClaudeHome,
) -> None:
    one = claude.session("one")
    one.prompt("hello")
    one.answer("hello", id="msg_same", used=usage(10))
    other = claude.session("other")
    other.prompt("hello")
    when = json.loads(one.lines[1])["timestamp"]
    other.answer("hello", id="msg_same", used=usage(10), timestamp=when)
    with in_every_order(claude) as store:
        assert [used.session_uid for used in every_usage(store)] == ["claude:one"]
        assert said(store, "claude:one") == said(store, "claude:other") == ["hello", "hello"]


def test_the_fullest_account_of_a_response_wins_wherever_it_stands(claude: ClaudeHome) -> None:
    origin = claude.session("zeta")
    origin.prompt("hello")
    origin.answer("hel", id="msg_1", used=usage(3))
    fork = claude.fork(origin, "alpha")
    fork.answer("lo", id="msg_1", used=usage(10))
    with in_every_order(claude) as store:
        [used] = every_usage(store)
        assert used.output_tokens == 10
        session = store.sessions.get(used.session_uid)
        assert session is not None and session.cost.output_tokens == 10


def test_of_equally_full_accounts_the_same_one_always_wins(claude: ClaudeHome) -> None:
    owner = claude.session("owner")
    owner.prompt("hello")
    forks = claude.fork(owner, "zeta"), claude.fork(owner, "mu")
    for log, output in zip((owner, *forks), (3, 10, 10), strict=True):
        log.prompt(f"hello from {log.session}")
        log.answer("hello", id="msg_1", used=usage(output))
    with in_every_order(claude) as store:
        [used] = every_usage(store)
        answers = {e.ts: uid for uid in store.sessions.uids() for e in events_of(store, uid)}
    assert (used.session_uid, used.output_tokens) == ("claude:owner", 10)
    assert answers[used.ts] == "claude:mu"


def test_another_answer_under_the_id_of_a_record_is_a_record_of_its_own(
    claude: ClaudeHome,
) -> None:
    origin = talk(claude.session("zeta"), "one")
    origin.answer("edited by hand", id="msg_other", uuid=origin.head)
    talk(claude.fork(origin, "alpha"), "two")
    with in_every_order(claude) as store:
        assert said(store, "claude:zeta") == ["one", "one!", "edited by hand"]
        assert said(store, "claude:alpha") == ["two", "two!"]
        assert {used.usage_id for used in every_usage(store)} == {"msg_one", "msg_other", "msg_two"}


def test_a_fork_knows_its_past(claude: ClaudeHome) -> None:
    """A call that failed before the fork, tried again after it, is a retry."""
    origin = talk(claude.session("zeta"), "one")
    origin.run("make", "no rule", exit_code=2)
    fork = claude.fork(origin, "alpha")
    fork.run("make", "built")
    with collected(claude.write()) as store:
        session = store.sessions.get("claude:alpha")
        [retry, result] = events_of(store, "claude:alpha")
    assert (retry.kind, retry.marks, retry.parent_seq) == ("retry", ("tool_call",), 3)
    assert result.kind == "tool_result"
    assert session is not None
    assert (session.title, session.cost.retries, session.cost.turns) == ("one", 1, 0)


def test_an_open_call_is_answered_in_the_fork(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    origin.answer(call("Bash", "call_1", command="pytest -q"))
    fork = claude.fork(origin, "alpha")
    fork.result("1 failed", call_id="call_1")
    with collected(claude.write()) as store:
        [result] = events_of(store, "claude:alpha")
    assert (result.tool, result.call_id, result.is_error) == ("Bash", "call_1", True)


def test_clocks_that_jump_do_not_move_the_owner(claude: ClaudeHome) -> None:
    """The first own record is the first in the file, whatever time a later one claims."""
    origin = talk(claude.session("zeta"), "one")
    fork = claude.fork(origin, "alpha")
    talk(origin, "two")
    talk(fork, "three")
    with collected(claude.write()) as store:
        fork.prompt("from the past", timestamp="2020-01-01T00:00:00.000Z")
        collect(store, claude.write())
        check_sound(store)
        assert said(store, "claude:zeta") == ["one", "one!", "two", "two!"]
        with collected(claude.path) as fresh:
            check_same(contents(fresh), contents(store))


def test_a_fork_without_times_of_its_own_has_those_of_its_past(claude: ClaudeHome) -> None:
    origin = talk(claude.session("zeta"), "one")
    fork = claude.fork(origin, "alpha")
    fork.prompt("when?", timestamp=...)
    with in_every_order(claude) as store:
        past, session = store.sessions.get("claude:zeta"), store.sessions.get("claude:alpha")
    assert past is not None and session is not None
    assert (session.started_at, session.ended_at) == (past.started_at, past.ended_at)


def test_pieces_of_one_history_in_many_files_are_counted_once(claude: ClaudeHome) -> None:
    """Cut copies hold a stretch of a session and not its beginning."""
    origin = talk(claude.session("mid"), "one", "two", "three")
    for name, (first, last) in {"a": (0, 2), "b": (2, 4), "z": (3, 6)}.items():
        part = claude.session(name)
        for line in origin.lines[first:last]:
            part.raw(line.replace(b'"sessionId":"mid"', f'"sessionId":"{name}"'.encode()))
        talk(part, f"own {name}")
    with in_every_order(claude) as store:
        total = sum((session.cost for session in store.sessions.every()), Cost())
    assert (total.output_tokens, total.turns) == (60, 6)


# ------------------------------------------------------------ several files, several sessions


def test_a_session_in_several_files_is_one_session(claude: ClaudeHome) -> None:
    first = talk(claude.session("alpha"), "one")
    second = talk(claude.keep(first.moved("-home-mira-code-moved")), "two")
    with in_every_order(claude) as store:
        [session] = store.sessions.every()
        found = events_of(store, session.session_uid)
    assert [event.summary for event in found] == ["one", "one!", "two", "two!"]
    assert [event.parent_seq for event in found] == [None, 0, 1, 2]
    assert session.source_bytes == len(first.data) + len(second.data)


def test_a_file_that_was_copied_elsewhere_adds_nothing(claude: ClaudeHome) -> None:
    log = talk(claude.session("alpha"), "one")
    log.custom_title("a title")
    copy = claude.session("alpha", slug="-home-mira-code-copy")
    for line in log.lines:
        copy.raw(line)
    with in_every_order(claude) as store:
        [session] = store.sessions.every()
        assert said(store, "claude:alpha") == ["one", "one!", "a title"]
        assert session.cost.output_tokens == 10


def test_a_copied_file_of_titles_alone_adds_nothing_either(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.custom_title("a title")
    log.summary("a summary", leaf="x")
    copy = claude.session("alpha", slug="-home-mira-code-copy")
    for line in log.lines:
        copy.raw(line)
    with in_every_order(claude) as store:
        assert said(store, "claude:alpha") == ["a title", "a summary"]


def test_a_file_may_hold_several_sessions(claude: ClaudeHome) -> None:
    log = talk(claude.session("alpha"), "one")
    log.session = "beta"
    log.head = None
    talk(log, "two")
    log.session = "alpha"
    talk(log, "three")
    with in_every_order(claude) as store:
        assert said(store, "claude:alpha") == ["one", "one!", "three", "three!"]
        assert said(store, "claude:beta") == ["two", "two!"]


def test_a_session_id_that_fits_nowhere_gets_a_substitute_and_a_problem(
    claude: ClaudeHome,
) -> None:
    log = claude.session("alpha")
    log.session = "../../etc/passwd"
    log.prompt("one")
    with collected(claude.write()) as store:
        check_sound(store)
        [session] = store.sessions.every()
        row = store.sessions.row(session.session_uid)
        assert session.session_uid.startswith("claude:x-")
        assert row is not None and row.native_name == "../../etc/passwd"
        assert [problem.reason for problem in store.problems.every()] == ["unusable session id"]


@pytest.mark.parametrize("copies", [2, 3])
def test_forks_shared_by_many_stay_cheap_to_grow(claude: ClaudeHome, copies: int) -> None:
    """A line appended to a fork is stored without deriving its relatives again."""
    origin = talk(claude.session("zeta"), "one")
    forks = [talk(claude.fork(origin, f"fork{n}"), f"own{n}") for n in range(copies)]
    with collected(claude.write()) as store:
        before = store.sessions.row("claude:zeta")
        talk(forks[0], "more")
        collect(store, claude.write())
        after = store.sessions.row("claude:zeta")
        assert before is not None and after is not None
        assert after.revision == before.revision
        check_sound(store)


def test_a_session_that_goes_on_after_it_was_forked_may_lose_what_it_shares(
    claude: ClaudeHome,
) -> None:
    """Only while it has no record of its own is it known to have come first. Afterwards the owner
    is the session whose first own record is earlier, here the fork."""
    log = claude.session("alpha")
    log.prompt("one")
    log.answer("two")
    with new_store() as store:
        collect(store, claude.write())
        fork = claude.fork(log, "beta")
        fork.prompt("three")
        collect(store, claude.write())
        assert len(events_of(store, "claude:alpha")) == 2
        log.prompt("four")
        collect(store, claude.write())
        check_sound(store)
        assert [event.summary for event in events_of(store, "claude:alpha")] == ["four"]
        with collected(claude.write()) as at_once:
            check_same(contents(at_once), contents(store))
