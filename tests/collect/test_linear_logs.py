"""Logs without links between their lines: paths, going back, chunks, outcomes, late usage."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy
from on_a_server import orders_for
from toy import ToyLog, answer, called, prompt, resulted, went_back

from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.store.zstandard import zstd
from session_memory.testing.agents import installed
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
    inherited_by,
    new_store,
    rebuilt,
    usage_of,
)

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with installed(toy.AGENT):
        yield


def settled(root: Path) -> Store:
    """A store of ``root`` that is the same however its files grew and arrived."""
    store = collected(root)
    check_sound(store)
    expected = contents(store)
    assert contents(rebuilt(store)) == expected
    _grown_line_by_line(root, expected)
    _in_any_order(root, store, expected)
    return store


def _grown_line_by_line(root: Path, expected: list[str]) -> None:
    files = {path: path.read_bytes().splitlines(keepends=True) for path in root.rglob("*.*")}
    with new_store() as store:
        for count in range(1, max(map(len, files.values())) + 1):
            for path, lines in files.items():
                path.write_bytes(b"".join(lines[:count]))
            collect(store, root)
        check_same(expected, contents(store))


def _in_any_order(root: Path, at_once: Store, expected: list[str]) -> None:
    kept = root.with_name("kept")
    shutil.copytree(root, kept)
    for order in orders_for(at_once, sorted(kept.iterdir())):
        shutil.rmtree(root)
        root.mkdir()
        with new_store() as store:
            for path in order:
                shutil.copy2(path, root / path.name)
                collect(store, root)
            check_same(expected, contents(store))
    shutil.rmtree(kept)


def used(number: int, output: int = 10) -> dict[str, object]:
    return {"usage_id": f"r{number}", "model": "m1", "input_tokens": 1, "output_tokens": output}


def test_every_record_stands_below_the_one_before_it(tmp_path: Path) -> None:
    ToyLog(tmp_path / "home" / "s.toy").add(prompt("one")).add().add(answer("two")).write()
    with settled(tmp_path / "home") as store:
        assert [event.parent_seq for event in events_of(store, "toy:s")] == [None, 0]


def test_turns_that_a_person_took_back_stay_as_an_abandoned_branch(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    log.add(prompt("one")).add(answer("first"))
    log.add(prompt("two")).add(answer("second")).add(prompt("three")).add(answer("third"))
    log.add(went_back(), turns_undone=2).add(prompt("again")).add(answer("fourth")).write()
    with settled(tmp_path / "home") as store:
        events = events_of(store, "toy:s")
    assert [event.branch for event in events] == [None] * 2 + ["s#2:0"] * 4 + [None] * 3
    assert [event.parent_seq for event in events] == [None, 0, 1, 2, 3, 4, 1, 6, 7]


def test_going_back_to_a_prompt_by_its_number_counts_the_prompts_on_the_path(
    tmp_path: Path,
) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    log.add(prompt("0")).add(prompt("1")).add(went_back(), back_to_prompt=1)
    log.add(prompt("another 1")).add(prompt("2")).add(went_back(), back_to_prompt=2)
    log.add(went_back(), back_to_prompt=7).write()
    with settled(tmp_path / "home") as store:
        branches = [event.branch for event in events_of(store, "toy:s")]
    assert branches == [None, "s#1:0", None, None, "s#4:0", None, None]


def test_a_second_file_that_begins_before_the_end_of_the_first_takes_the_rest_back(
    tmp_path: Path,
) -> None:
    first = ToyLog(tmp_path / "home" / "s.toy")
    first.add(prompt("0"), ordinal=0).add(answer("one"), ordinal=1)
    first.add(prompt("2"), ordinal=2).add(answer("three"), ordinal=3).write()
    second = ToyLog(tmp_path / "home" / "s_again.toy", clock=first.clock)
    meta = {"kind": "lifecycle", "role": "system", "native_kind": "meta"}
    base = {"session": "s", "ordinal": 2}
    second.add(meta, session="s", base=base, ordinal=2)
    second.add(prompt("another 2"), session="s", ordinal=3).write()
    with settled(tmp_path / "home") as store:
        events = events_of(store, "toy:s")
    assert [event.branch for event in events] == [None, None, "s#2:0", "s#2:0", None, None]
    assert [event.parent_seq for event in events] == [None, 0, 1, 2, 1, 4]


def test_a_message_in_chunks_is_one_event_that_holds_them_all(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    log.add(prompt("go")).add(answer("Hel")).add(continues=True, text="lo, ")
    log.add(continues=True, text="world").add(prompt("thanks")).write()
    with settled(tmp_path / "home") as store:
        events = events_of(store, "toy:s")
    assert [event.summary for event in events] == ["go", "Hello, world", "thanks"]
    place, length = (events[1].payload_ref or "").partition("@")[2].partition("#")[0].split("+")
    start = len(log.lines[0])
    assert (int(place), int(length)) == (start, sum(map(len, log.lines[1:4])) - len("\n"))


def test_usage_told_by_a_record_of_its_own_stands_on_the_answers_before_it(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    log.add(prompt("go")).add(answer("one")).add(called("c")).add(usage=used(1, 7))
    log.add(resulted("c")).add(answer("two")).add(usage=used(2, 9)).write()
    with settled(tmp_path / "home") as store:
        events = events_of(store, "toy:s")
        seqs = [usage.seq for usage in usage_of(store, "toy:s")]
    assert [(e.response_id, e.tokens) for e in events] == [
        (None, 0),
        ("r1", 0),
        ("r1", 7),
        (None, 0),
        ("r2", 9),
    ]
    assert seqs == [2, 4]


def test_answers_of_an_interrupted_turn_are_not_taken_for_those_of_the_next(
    tmp_path: Path,
) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    log.add(prompt("go")).add(answer("half")).add(prompt("again")).add(answer("whole"))
    log.add(usage=used(1)).write()
    with settled(tmp_path / "home") as store:
        responses = [event.response_id for event in events_of(store, "toy:s")]
    assert responses == [None, None, None, "r1"]


def test_a_turn_of_several_models_counts_for_each(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy").add(prompt("go")).add(answer("done"))
    other = {"usage_id": "r1/m2", "model": "m2", "output_tokens": 5}
    log.add(usage=used(1), more_usage=[other]).write()
    with settled(tmp_path / "home") as store:
        assert {u.model: u.output_tokens for u in usage_of(store, "toy:s")} == {"m1": 10, "m2": 5}


@pytest.mark.parametrize("first", ["outcome", "result"])
def test_what_another_record_says_about_a_call_is_added_to_its_result(
    first: str, tmp_path: Path
) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy").add(prompt("go")).add(called("c"))
    outcome = {"call_id": "c", "is_error": True, "exit_code": 3, "duration_ms": 42}
    if first == "outcome":
        log.add(outcomes=[outcome]).add(resulted("c")).write()
    else:
        log.add(resulted("c")).add(outcomes=[outcome]).write()
    with settled(tmp_path / "home") as store:
        result = events_of(store, "toy:s")[-1]
    assert (result.kind, result.marks, result.exit_code, result.duration_ms) == (
        "error",
        ("tool_result",),
        3,
        42,
    )


def test_a_timeline_tells_outcomes_whenever_it_arrives(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy").add(prompt("go"))
    log.add(called("c")).add(resulted("c")).add(called("d")).add(resulted("d")).write()
    line = ToyLog(tmp_path / "home" / "s.line")
    line.add(outcomes=[{"call_id": "c", "is_error": True, "marks": ["human_intervention"]}])
    line.add({"kind": "decision", "role": "user", "summary": "yes", "native_kind": "granted"})
    line.write()
    with settled(tmp_path / "home") as store:
        events = events_of(store, "toy:s")
    kinds = [(event.kind, event.marks) for event in events]
    assert kinds == [
        ("decision", ()),
        ("user_msg", ()),
        ("tool_call", ()),
        ("error", ("tool_result", "human_intervention")),
        # The same call again, after a failure that only the timeline knew of.
        ("retry", ("tool_call",)),
        ("tool_result", ()),
    ]


def test_a_failure_that_only_a_late_timeline_knows_makes_the_next_call_a_retry(
    tmp_path: Path,
) -> None:
    """The timeline gives no event, so nothing but the failure asks for a derivation."""
    log = ToyLog(tmp_path / "home" / "s.toy").add(prompt("go"))
    log.add(called("c")).add(resulted("c")).add(called("d")).add(resulted("d")).write()
    line = ToyLog(tmp_path / "home" / "s.line")
    line.add(outcomes=[{"call_id": "c", "is_error": True}]).write()
    with settled(tmp_path / "home") as store:
        kinds = [event.kind for event in events_of(store, "toy:s")]
        session = store.sessions.get("toy:s")
    assert kinds == ["user_msg", "tool_call", "error", "retry", "tool_result"]
    assert session is not None and session.cost.retries == 1


def test_records_without_ids_in_files_of_the_same_name_are_not_the_same(tmp_path: Path) -> None:
    for session in ("a", "b"):
        line = ToyLog(tmp_path / "home" / session / "all.line")
        line.add({"kind": "decision", "role": "user", "native_kind": "granted"}, session=session)
        line.write()
    with collected(tmp_path / "home") as store:
        check_sound(store)
        assert [len(events_of(store, uid)) for uid in ("toy:a", "toy:b")] == [1, 1]


def test_a_fork_by_reference_holds_what_its_parent_had_at_that_point(tmp_path: Path) -> None:
    home = tmp_path / "home"
    parent = ToyLog(home / "p.toy")
    parent.add(prompt("one"), ordinal=0).add(answer("two"), ordinal=1)
    parent.add(usage=used(1), ordinal=2).add(prompt("three"), ordinal=3).write()
    fork = ToyLog(home / "f.toy")
    base = {"session": "p", "ordinal": 3}
    fork.add(prompt("other"), ordinal=3, parent_session="p", relation="fork", base=base)
    fork.add(answer("way"), ordinal=4).add(usage=used(2), ordinal=5).write()
    again = ToyLog(home / "g.toy")
    deep = {"session": "f", "ordinal": 4}
    again.add(prompt("deeper"), ordinal=4, parent_session="f", relation="fork", base=deep).write()
    with settled(home) as store:
        assert [event.summary for event in events_of(store, "toy:f")] == ["other", "way"]
        held = [(seq, event.session_uid) for seq, event in inherited_by(store, "toy:f")]
        assert held == [(0, "toy:p"), (1, "toy:p")]
        assert events_of(store, "toy:f")[0].parent_seq == 1
        deepest = [event.summary for _, event in inherited_by(store, "toy:g")]
        assert deepest == ["one", "two", "other"]
        sessions = {session.session_uid: session for session in store.sessions.every()}
        assert [sessions[f"toy:{name}"].cost.output_tokens for name in "pfg"] == [10, 10, 0]
        assert (sessions["toy:g"].parent_uid, sessions["toy:g"].relation) == ("toy:f", "fork")


def test_a_fork_that_leaves_before_its_parent_left_inherits_no_more_than_it_names(
    tmp_path: Path,
) -> None:
    """The fork names its parent up to ordinal 2, which the parent holds of its own parent."""
    home = tmp_path / "home"
    origin = ToyLog(home / "p.toy")
    for number in range(4):
        origin.add(prompt(str(number)), ordinal=number)
    origin.write()
    base = {"session": "p", "ordinal": 4}
    fork = ToyLog(home / "f.toy")
    fork.add(prompt("4"), ordinal=4, parent_session="p", relation="fork", base=base).write()
    early = {"session": "f", "ordinal": 2}
    second = ToyLog(home / "g.toy")
    second.add(prompt("2b"), ordinal=2, parent_session="f", relation="fork", base=early).write()
    with settled(home) as store:
        assert [event.summary for _, event in inherited_by(store, "toy:g")] == ["0", "1"]
        assert len(inherited_by(store, "toy:f")) == 4


def test_a_fork_by_reference_takes_what_it_begins_with_along(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ToyLog(home / "p.toy").add(prompt("one"), ordinal=0).write()
    origin = {"parent_session": "p", "relation": "fork", "base": {"session": "p", "ordinal": 1}}
    ToyLog(home / "f.toy").add(prompt("two"), ordinal=1, **origin).write()
    with collected(home) as store:
        written = restore_native(store, ["toy:f"], tmp_path / "again")
    assert sorted(item.path.name for item in written) == ["f.toy", "p.toy"]


def test_a_fork_by_reference_does_not_begin_with_what_was_taken_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = ToyLog(home / "p.toy")
    first.add(prompt("0"), ordinal=0).add(prompt("undone"), ordinal=1).write()
    second = ToyLog(home / "p_again.toy", clock=first.clock)
    own = {"session": "p", "ordinal": 1}
    meta = {"kind": "lifecycle", "role": "system", "native_kind": "meta"}
    second.add(meta, session="p", base=own, ordinal=1)
    second.add(prompt("another"), session="p", ordinal=2).write()
    fork = ToyLog(home / "f.toy", clock=second.clock)
    base = {"session": "p", "ordinal": 3}
    fork.add(prompt("on"), ordinal=3, parent_session="p", relation="fork", base=base).write()
    with settled(home) as store:
        held = [event.summary for _, event in inherited_by(store, "toy:f")]
    assert held == ["0", "", "another"]


def test_a_log_may_say_that_it_is_a_subagent_and_not_whose(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    log.add(prompt("review this"), relation="subagent").add(answer("fine")).write()
    with settled(tmp_path / "home") as store:
        session = store.sessions.get("toy:s")
    assert session is not None
    assert (session.relation, session.parent_uid, session.cost.turns) == ("subagent", None, 0)


def test_forks_that_refer_to_each_other_end(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        log = ToyLog(tmp_path / "home" / f"{one}.toy")
        base = {"session": other, "ordinal": 9}
        log.add(prompt(one), ordinal=0, parent_session=other, relation="fork", base=base).write()
    with settled(tmp_path / "home") as store:
        assert len(events_of(store, "toy:a")) == 1


def test_a_document_says_that_a_session_is_a_subagent_and_its_prompts_nobodys(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    ToyLog(home / "s.toy").add(prompt("look")).add(answer("looked")).write()
    ToyLog(home / "s.doc").add(facts={"relation": "subagent", "agent_name": "scout"}).write()
    with settled(home) as store:
        session = store.sessions.get("toy:s")
        assert session is not None
        assert (session.relation, session.title, session.cost.turns) == ("subagent", "scout", 0)
        assert [event.kind for event in events_of(store, "toy:s")] == ["lifecycle", "assistant_msg"]


def test_subagents_are_as_deep_as_the_chain_of_their_parents(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ToyLog(home / "a.toy").add(prompt("go"), link={"child": "b", "call_id": "c1"}).write()
    ToyLog(home / "b.toy").add(answer("1"), parent_session="a").write()
    ToyLog(home / "c.toy").add(answer("2"), parent_session="b").write()
    ToyLog(home / "d.toy").add(answer("3"), parent_session="c").write()
    with settled(home) as store:
        depths = {s.session_uid: s.spawn_depth for s in store.sessions.every()}
    assert depths == {"toy:a": 0, "toy:b": 1, "toy:c": 2, "toy:d": 3}


def test_a_log_that_was_compressed_in_place_is_the_same_source(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy").add(prompt("one")).add(answer("two"))
    path = log.write()
    with collected(tmp_path / "home") as store:
        expected = contents(store)
        packed = path.with_name("s.toy.zst")
        packed.write_bytes(zstd.compress(path.read_bytes()))
        path.unlink()
        report = collect(store, tmp_path / "home").report
        assert (report.discovered, report.events, report.bytes) == (1, 0, 0)
        check_same(expected, contents(store))
        assert collect(store, tmp_path / "home").report.unchanged == 1
        log.add(prompt("three"))
        packed.write_bytes(zstd.compress(b"".join(log.lines)))
        assert collect(store, tmp_path / "home").report.events == 1
    with collected(tmp_path / "home") as store:
        check_sound(store)
        assert len(events_of(store, "toy:s")) == 3


@pytest.mark.only("sqlite")
def test_a_compressed_log_that_is_no_such_thing_or_a_bomb_is_a_problem(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ToyLog(home / "good.toy").add(prompt("one")).write()
    (home / "torn.toy.zst").write_bytes(zstd.compress(b"x" * 100)[:-3])
    (home / "bad.toy.zst").write_bytes(b"no such thing")
    (home / "bomb.toy.zst").write_bytes(zstd.compress(bytes(200_000_000), 1))
    with collected(home) as store:
        problems = [problem.detail for problem in store.problems.every()]
        assert len(problems) == 3, problems
        assert sum("unpacked" in detail for detail in problems) == 3
        assert len(events_of(store, "toy:good")) == 1


# ------------------------------------------------------------ found by attack


def test_going_back_more_often_than_there_are_prompts_is_no_crash(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy").add(prompt("only"))
    log.add(went_back(), turns_undone=1).add(went_back(), turns_undone=1)
    log.add(went_back(), back_to_prompt=0).write()
    with settled(tmp_path / "home") as store:
        branches = [event.branch for event in events_of(store, "toy:s")]
    assert branches == ["s#0:0", None, None, None]


@pytest.mark.parametrize("undo", [{"back_to_prompt": 2}, {"turns_undone": 203}])
def test_going_back_to_a_prompt_that_is_no_longer_remembered(
    tmp_path: Path, undo: dict[str, int]
) -> None:
    """200 prompts are saved with the session. The third of 205 must be found in the store."""
    log = ToyLog(tmp_path / "home" / "s.toy")
    for number in range(205):
        log.add(prompt(f"prompt {number}"))
    log.write()
    with new_store() as store:
        collect(store, tmp_path / "home")
        log.add(went_back(), **undo).write()
        collect(store, tmp_path / "home")
        events = events_of(store, "toy:s")
        kept = [event.summary for event in events if event.branch is None]
        assert kept == ["prompt 0", "prompt 1", "went back"]
        assert {event.branch for event in events if event.branch} == {"s#2:0"}
        with collected(tmp_path / "home") as at_once:
            check_same(contents(at_once), contents(store))


def test_going_back_reaches_further_than_what_is_remembered(tmp_path: Path) -> None:
    log = ToyLog(tmp_path / "home" / "s.toy")
    for number in range(205):
        log.add(prompt(f"old {number}"))
    log.add(went_back(), back_to_prompt=0)
    for number in range(3):
        log.add(prompt(f"new {number}"))
    log.add(went_back(), back_to_prompt=2).write()
    with collected(tmp_path / "home") as store:
        events = events_of(store, "toy:s")
        expected = contents(store)
        check_same(expected, contents(rebuilt(store)))
    left = [event.summary for event in events if event.branch is None]
    assert left == ["went back", "new 0", "new 1", "went back"]
    with new_store() as store:
        for lines in (100, 203, 206, 209, None):
            log.write(lines)
            collect(store, tmp_path / "home")
        check_same(expected, contents(store))


def test_usage_before_the_first_event_has_a_place_all_the_same(tmp_path: Path) -> None:
    ToyLog(tmp_path / "home" / "s.toy").add(usage=used(1)).add(prompt("late")).write()
    with settled(tmp_path / "home") as store:
        assert [usage.seq for usage in usage_of(store, "toy:s")] == [0]


def test_usage_at_the_end_of_a_first_file_belongs_there_when_it_comes_late(
    tmp_path: Path,
) -> None:
    first = ToyLog(tmp_path / "home" / "s.toy").add(prompt("one")).add(answer("first"))
    first.add(usage=used(1)).write()
    second = ToyLog(tmp_path / "home" / "s_again.toy", clock=first.clock)
    second.add(prompt("two"), session="s").add(answer("second"), session="s").write()
    with settled(tmp_path / "home") as store:
        responses = {event.summary: event.response_id for event in events_of(store, "toy:s")}
    assert responses["first"] == "r1" and responses["second"] is None


@pytest.mark.parametrize("parent", [None, "p"])
def test_what_a_document_says_about_a_parent_counts_before_what_was_copied(
    tmp_path: Path, parent: str | None
) -> None:
    home = tmp_path / "home"
    ToyLog(home / "p.toy").add(prompt("one")).add(answer("two")).write()
    copied = ToyLog(home / "s.toy").add(prompt("one"), native_id="p#0")
    copied.add(answer("two"), native_id="p#1").add(prompt("on")).write()
    facts = {"relation": "subagent", "parent": parent}
    ToyLog(home / "s.doc").add(facts=facts).write()
    with settled(home) as store:
        session = store.sessions.get("toy:s")
    assert session is not None
    assert session.parent_uid == (f"toy:{parent}" if parent else None)
    assert (session.relation, session.cost.turns) == ("subagent", 0)


def test_a_long_chain_of_forks_by_reference_is_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ToyLog(home / "f0.toy").add(prompt("0"), ordinal=0).write()
    for number in range(1, 60):
        log = ToyLog(home / f"f{number}.toy")
        base = {"session": f"f{number - 1}", "ordinal": number}
        origin = {"parent_session": f"f{number - 1}", "relation": "fork", "base": base}
        log.add(prompt(str(number)), ordinal=number, **origin).write()
    with collected(home) as store:
        check_sound(store)
        held = [event.summary for _, event in inherited_by(store, "toy:f59")]
    assert held == [str(number) for number in range(59)]
