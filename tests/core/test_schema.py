"""The schema: what can be built can be written and read back, and nothing else can be built."""

import copy
import dataclasses
import inspect
import json
import math
import pickle
from typing import Any

import effort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.errors import InvalidId, InvalidRecord, InvalidTime
from session_memory.core.ids import NATIVE_ID
from session_memory.core.schema import (
    FLAVORS,
    KINDS,
    OUTCOMES,
    RELATIONS,
    ROLES,
    SCHEMA_VERSION,
    Attempt,
    Cost,
    Entry,
    Session,
    SessionEvent,
    Usage,
)
from session_memory.core.time import MAX_MS, MIN_MS, format_time
from session_memory.core.validation import MAX_INT, ValidatedRecord

TEN = "2026-07-01T10:00:00.000Z"


def a_session(**given: Any) -> Session:
    return Session("claude:abc", "claude", "abc", **given)


def an_event(**given: Any) -> SessionEvent:
    return SessionEvent(**{"session_uid": "claude:abc", "seq": 3, "kind": "user_msg", **given})


def an_entry(**given: Any) -> Entry:
    return Entry("abc", "2026-07-01T10:00:00.123456789+02:00", **given)


def a_usage(**given: Any) -> Usage:
    return Usage(session_uid="claude:abc", usage_id="msg_1", **given)


# Any record, and records from a newer writer.

texts = st.text(st.characters(codec=None), max_size=20)
maybe_texts = st.none() | texts
words = st.text(min_size=1, max_size=20)
counts = st.integers(0, 10**15)
maybe_counts = st.none() | counts
flavors = st.sampled_from(sorted(FLAVORS)) | st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
native_ids = st.from_regex(NATIVE_ID, fullmatch=True)
uids = st.builds(Session.make_uid, flavors, native_ids)
times = st.none() | st.integers(MIN_MS, MAX_MS).map(format_time)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
newer_fields = st.dictionaries(texts.map(lambda text: f"new_{text}"), json_values, max_size=2)
seconds = st.floats(0, 1e9)
buckets = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": counts,
        "output_tokens": counts,
        "cache_read_tokens": counts,
        "cache_write_tokens": counts,
        "cache_write_1h_tokens": counts,
        "reasoning_tokens": counts,
        "web_searches": counts,
    },
)


def filled(cls: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records with any subset of ``fields`` given, and fields of a newer writer."""
    given = st.fixed_dictionaries({}, optional=fields)
    return st.builds(lambda values, extra: cls(**values, _extra=extra), given, newer_fields)


costs = st.builds(
    lambda split, rest: Cost(**split, **rest),
    buckets | st.fixed_dictionaries({"cache_tokens": counts}),
    st.fixed_dictionaries({"wall_clock_s": seconds, "turns": counts, "retries": counts}),
)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    uid = draw(uids)
    flavor, native_id = uid.split(":", 1)
    text_fields = ("repo", "domain", "cwd", "git_branch", "model", "task_ref", "source_path")
    late_text_fields = ("title", "spawn_call_id", "agent_version", "host")
    time_fields = ("started_at", "ended_at", "discovered_at", "ingested_at", "analyzed_at")
    return Session(
        uid,
        flavor,
        native_id,
        **{name: draw(maybe_texts) for name in text_fields + late_text_fields},
        **{name: draw(times) for name in (*time_fields, "evicted_at")},
        outcome=draw(st.sampled_from(sorted(OUTCOMES))),
        cost=draw(costs),
        source_bytes=draw(counts),
        schema_version=draw(st.integers(1, 9)),
        parent_uid=draw(st.none() | uids.filter(lambda parent: parent != uid)),
        relation=draw(st.none() | st.sampled_from(sorted(RELATIONS))),
        spawn_depth=draw(counts),
        outcome_evidence=tuple(draw(st.lists(words, max_size=3))),
        revision=draw(counts),
        analyzed_revision=draw(maybe_counts),
        _extra=draw(newer_fields),
    )


event_fields: dict[str, st.SearchStrategy[Any]] = {
    "session_uid": uids,
    "seq": counts,
    "ts": times,
    "kind": st.sampled_from(sorted(KINDS)) | words,
    "parent_seq": st.none() | st.integers(2 * 10**15, 3 * 10**15),
    "role": maybe_texts,
    "tool": maybe_texts,
    "summary": texts,
    "payload_ref": maybe_texts,
    "tokens": counts,
    "is_sidechain": st.booleans(),
    "event_uid": maybe_texts,
    "marks": st.lists(words, max_size=3),
    "call_id": maybe_texts,
    "response_id": maybe_texts,
    "is_error": st.booleans(),
    "native_id": maybe_texts,
    "native_kind": maybe_texts,
    "model": maybe_texts,
    "duration_ms": maybe_counts,
    "exit_code": st.none() | st.integers(-(2**63), MAX_INT),
    "path": maybe_texts,
    "branch": maybe_texts,
}
attempts = filled(
    Attempt,
    attempt=counts,
    model=texts,
    output_summary=texts,
    runner_output=texts,
    verified=st.booleans(),
    tier=maybe_texts | counts,
    duration_ms=maybe_counts,
    warm_start=st.booleans(),
    verdict=maybe_texts,
    feedback=maybe_texts,
)
entries = st.builds(
    Entry,
    session_id=native_ids,
    timestamp=st.sampled_from([TEN, "2026-07-01T10:00:00.123456789+02:00"]),
    skill=texts,
    input=json_values,
    attempts=st.lists(attempts, max_size=3),
    final_status=texts,
    message=maybe_texts,
    duration_ms=maybe_counts,
    _extra=newer_fields,
)
usages = st.builds(
    lambda fixed, split, extra: Usage(**fixed, **split, _extra=extra),
    st.fixed_dictionaries({"session_uid": uids, "usage_id": words, "seq": maybe_counts}),
    buckets,
    newer_fields,
)
events = st.builds(SessionEvent, **event_fields, _extra=newer_fields)
records = st.one_of(costs, sessions(), events, usages, attempts, entries)


@settings(max_examples=effort.times(50), deadline=None)
@given(records)
def test_a_record_is_what_is_read_back_from_its_dict_and_its_json(record: ValidatedRecord) -> None:
    assert type(record).from_dict(record.to_dict()) == record
    assert type(record).from_json(record.to_json()) == record
    assert type(record).from_json(record.to_json().encode()) == record


@settings(max_examples=effort.times(50), deadline=None)
@given(records)
def test_json_has_sorted_keys_and_nothing_that_json_lacks(record: ValidatedRecord) -> None:
    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    data = json.loads(record.to_json(), parse_constant=refuse)
    assert list(data) == sorted(data)
    assert data == record.to_dict()


@settings(max_examples=effort.times(50), deadline=None)
@given(records)
def test_a_copy_is_equal_and_keeps_the_fields_of_a_newer_writer(record: ValidatedRecord) -> None:
    assert copy.copy(record) == record
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record
    assert dataclasses.replace(record) == record


junk = st.one_of(json_values, times, uids, st.floats(), st.just(object()), st.binary(max_size=3))


@settings(max_examples=effort.times(50), deadline=None)
@given(records, st.data())
def test_whatever_is_assigned_the_record_can_still_be_read_back(
    record: ValidatedRecord, data: st.DataObject
) -> None:
    before = record.to_dict()
    name = data.draw(st.sampled_from([f.name for f in dataclasses.fields(record)]))
    try:
        setattr(record, name, data.draw(junk))
    except InvalidRecord as error:
        assert record.to_dict() == before
        assert error.field in str(error)
    assert type(record).from_json(record.to_json()) == record


@settings(max_examples=effort.times(50), deadline=None)
@given(st.fixed_dictionaries(event_fields))
def test_an_event_is_the_same_however_its_fields_are_given(fields: dict[str, Any]) -> None:
    by_name = SessionEvent(**fields)
    assert SessionEvent(*(fields[name] for name in event_fields)) == by_name
    assert list(by_name.to_dict()) == list(event_fields)


# The contract: names, order, defaults.


def names(cls: type[Any]) -> str:
    return " ".join(f.name for f in dataclasses.fields(cls))


def test_the_fields_stand_in_the_order_of_the_contract() -> None:
    """The order is a contract: add the name of a new field at the end of its list here."""
    assert names(Cost) == (
        "input_tokens output_tokens cache_tokens wall_clock_s turns retries"
        " cache_read_tokens cache_write_tokens cache_write_1h_tokens reasoning_tokens web_searches"
    )
    assert names(Session) == (
        "session_uid flavor native_session_id repo domain cwd git_branch model started_at ended_at"
        " outcome cost task_ref source_path source_bytes schema_version discovered_at ingested_at"
        " analyzed_at evicted_at title parent_uid relation spawn_call_id spawn_depth"
        " outcome_evidence agent_version host revision analyzed_revision"
    )
    assert names(SessionEvent) == (
        "session_uid seq ts kind parent_seq role tool summary payload_ref tokens is_sidechain"
        " event_uid marks call_id response_id is_error native_id native_kind model duration_ms"
        " exit_code path branch"
    )
    assert names(Usage) == (
        "session_uid usage_id seq ts model speed service_tier input_tokens output_tokens"
        " cache_tokens cache_read_tokens cache_write_tokens cache_write_1h_tokens reasoning_tokens"
        " web_searches reported reported_cost"
    )
    assert names(Entry) == (
        "session_id timestamp skill phase project_root input attempts final_status file_path"
        " model_used duration_ms message"
    )
    assert names(Attempt) == (
        "attempt model output_summary runner_output verified tier duration_ms warm_start verdict"
        " feedback"
    )


@pytest.mark.parametrize(
    "record", [a_session(), an_event(), a_usage(reported=True, reported_cost=0), Cost()]
)
def test_a_dict_holds_every_field_in_order(record: ValidatedRecord) -> None:
    assert " ".join(record.to_dict()) == names(type(record))


def test_the_known_words_are_those_of_the_contract() -> None:
    assert SCHEMA_VERSION == 2
    assert set(OUTCOMES) == {"success", "fail", "abandoned", "continued", "unknown"}
    assert ROLES == ("user", "assistant", "system", "tool")
    assert RELATIONS == ("subagent", "fork", "resume", "handoff")


def test_the_known_words_have_an_order() -> None:  # SWITCHING 0.4
    assert FLAVORS[:3] == ("claude", "codex", "grok")
    assert (KINDS.index("user_msg"), KINDS.index("completion"), len(KINDS)) == (0, 12, 13)
    assert OUTCOMES[0] == "success" and OUTCOMES[-1] == "unknown"
    for known in (FLAVORS, KINDS, ROLES, OUTCOMES, RELATIONS):
        assert isinstance(known, tuple) and len(set(known)) == len(known)


def test_an_event_without_a_kind_is_of_the_lifecycle() -> None:  # SWITCHING 0.31
    for event in (
        SessionEvent("claude:a", 0),
        SessionEvent(session_uid="claude:a", seq=0),
        SessionEvent.from_dict({"session_uid": "claude:a", "seq": 0}),
        SessionEvent.from_dict({"session_uid": "claude:a", "seq": 0, "kind": None}),
    ):
        assert event.kind == "lifecycle" and event.is_a("lifecycle")


def test_an_event_may_come_without_a_summary() -> None:  # SWITCHING 0.32
    event = an_event(summary=None)
    assert event == an_event() and event.summary == ""
    assert SessionEvent("claude:abc", 3, None, "user_msg", None, None, None, None) == event  # type: ignore[arg-type]
    event.summary = None  # type: ignore[assignment]
    assert SessionEvent.from_json(event.to_json()) == event


def test_a_new_session_knows_nothing_but_its_name() -> None:
    session = a_session()
    assert (session.outcome, session.cost, session.schema_version) == ("unknown", Cost(), 2)
    assert (session.revision, session.analyzed_revision, session.outcome_evidence) == (0, None, ())
    assert session.title is session.started_at is session.parent_uid is None


def test_the_defaults_pass_the_checks_that_the_constructor_spares_them() -> None:
    for record in (an_event(), a_usage()):
        for name, default in record.to_dict().items():
            setattr(record, name, default)
        assert record in (an_event(), a_usage())


def test_the_constructor_of_an_event_can_be_inspected() -> None:
    assert list(inspect.signature(SessionEvent).parameters)[:4] == [
        "session_uid",
        "seq",
        "ts",
        "kind",
    ]


def test_wrong_arguments_are_explained_as_python_does() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sumary'"):
        an_event(sumary="x")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'seq'"):
        SessionEvent(session_uid="claude:abc", kind="edit")  # type: ignore[call-arg]


def test_a_field_that_is_none_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError, match="SessionEvent has no field 'sumary'"):
        an_event().sumary = "x"


def test_marks_are_a_tuple_in_memory_and_a_list_in_json() -> None:
    event = an_event(kind="retry", marks=["tool_call", "test_run"])
    assert event.marks == ("tool_call", "test_run")
    assert json.loads(event.to_json())["marks"] == ["tool_call", "test_run"]


def test_an_event_is_its_kind_and_each_of_its_marks() -> None:
    event = an_event(kind="retry", marks=("tool_call", "test_run"))
    assert [event.is_a(kind) for kind in ("retry", "test_run", "edit")] == [True, True, False]


def test_times_are_kept_in_one_form() -> None:
    assert a_session(started_at="2026-07-01T12:00:00.0009+02:00").started_at == TEN
    assert an_event(ts="2026-07-01 10:00:00").ts == TEN
    assert a_usage(ts="2026-07-01T10:00:00Z").ts == TEN
    session = a_session()
    session.ended_at = "2026-07-01T10:00:00Z"
    assert session.ended_at == TEN


def test_what_a_dict_holds_is_not_the_record_itself() -> None:
    entry = an_entry(input={"files": ["a.py"]})
    entry.to_dict()["input"]["files"].append("b.py")
    assert entry.input == {"files": ["a.py"]}


# Other versions.

VERSION_1 = {
    "session_uid": "claude:abc",
    "flavor": "claude",
    "native_session_id": "abc",
    "repo": "widgets",
    "domain": None,
    "cwd": "/home/me/widgets",
    "git_branch": "main",
    "model": "opus",
    "started_at": "2026-07-01T10:00:00Z",
    "ended_at": None,
    "outcome": "success",
    "cost": {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_tokens": 500,
        "wall_clock_s": 12,
        "turns": 2,
        "retries": 0,
    },
    "task_ref": None,
    "source_path": "/home/me/.claude/projects/widgets/abc.jsonl",
    "source_bytes": 49_000,
    "schema_version": 1,
    "discovered_at": None,
    "ingested_at": "2026-07-01T11:00:00.000Z",
    "analyzed_at": "2026-07-01T11:00:00.000Z",
    "evicted_at": None,
}


def test_a_session_of_version_1_loads_and_stays_of_version_1() -> None:
    session = Session.from_dict(VERSION_1)
    assert (session.schema_version, session.repo, session.started_at) == (1, "widgets", TEN)
    assert (session.cost.cache_tokens, session.cost.cache_read_tokens) == (500, 0)
    assert (session.title, session.revision) == (None, 0)
    assert Session.from_dict(session.to_dict()) == session


def test_an_event_of_version_1_loads() -> None:
    event = SessionEvent.from_dict(
        {
            "session_uid": "claude:abc",
            "seq": 0,
            "ts": None,
            "kind": "tool_call",
            "parent_seq": None,
            "role": "assistant",
            "tool": "Bash",
            "summary": "ls",
            "payload_ref": None,
            "tokens": 7,
            "is_sidechain": False,
        }
    )
    assert event == an_event(
        seq=0, kind="tool_call", role="assistant", tool="Bash", summary="ls", tokens=7
    )


def test_a_record_of_a_newer_version_loads_and_stays_of_that_version() -> None:
    newer = {**a_session().to_dict(), "schema_version": 3, "mood": {"level": 4}}
    session = Session.from_dict(newer)
    session.outcome = "success"
    assert session.to_dict() == {**newer, "outcome": "success"}


def test_a_field_of_a_newer_writer_makes_a_difference() -> None:
    plain = an_event().to_dict()
    assert SessionEvent.from_dict({**plain, "mood": 4}) != SessionEvent.from_dict(plain)


def test_a_null_in_a_dict_is_an_absence() -> None:
    data = {**an_event().to_dict(), "summary": None, "tokens": None, "marks": None}
    assert SessionEvent.from_dict(data) == an_event()


@pytest.mark.parametrize("name", ["session_uid", "seq"])
def test_a_missing_field_is_named(name: str) -> None:
    data = an_event().to_dict()
    del data[name]
    with pytest.raises(InvalidRecord, match=f"{name} is missing"):
        SessionEvent.from_dict(data)
    with pytest.raises(InvalidRecord, match=f"{name} is missing"):
        SessionEvent.from_dict({**data, name: None})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "7", b"\xff", '{"seq": 1}', "[" * 100_000, "1" * 5000]
)
def test_what_is_no_record_is_refused_as_one(text: str | bytes) -> None:
    with pytest.raises(InvalidRecord):
        SessionEvent.from_json(text)


# What is refused, on each of the three ways in.

REFUSED: list[tuple[ValidatedRecord, str, Any]] = [
    (an_event(), "session_uid", "abc"),
    (an_event(), "session_uid", "claude:"),
    (an_event(), "session_uid", "claude:../x"),
    (an_event(), "seq", -1),
    (an_event(), "seq", True),
    (an_event(), "seq", 1.0),
    (an_event(), "seq", "1"),
    (an_event(), "seq", 2**63),
    (an_event(), "seq", 10**5000),
    (an_event(), "ts", "yesterday"),
    (an_event(), "ts", 1782900000),
    (an_event(), "kind", ""),
    (an_event(), "kind", 7),
    (an_event(), "parent_seq", 3),
    (an_event(), "parent_seq", -1),
    (an_event(), "role", 7),
    (an_event(), "summary", b"bytes"),
    (an_event(), "tokens", -1),
    (an_event(), "tokens", math.nan),
    (an_event(), "tokens", False),
    (an_event(), "is_sidechain", 1),
    (an_event(), "is_error", "no"),
    (an_event(), "marks", "tool_call"),
    (an_event(), "marks", [""]),
    (an_event(), "marks", [7]),
    (an_event(), "duration_ms", math.inf),
    (an_event(), "exit_code", True),
    (a_session(), "session_uid", "claude:abd"),
    (a_session(), "session_uid", "abc"),
    (a_session(), "native_session_id", ""),
    (a_session(), "native_session_id", ".."),
    (a_session(), "flavor", "Claude"),
    (a_session(), "started_at", "yesterday"),
    (a_session(), "evicted_at", ""),
    (a_session(), "outcome", "great"),
    (a_session(), "outcome", ["success"]),
    (a_session(), "relation", "cousin"),
    (a_session(), "parent_uid", "abc"),
    (a_session(), "parent_uid", "claude:abc"),
    (a_session(), "cost", 7),
    (a_session(), "cost", {"turns": -1}),
    (a_session(), "source_bytes", -1),
    (a_session(), "schema_version", 0),
    (a_session(), "revision", True),
    (a_session(), "outcome_evidence", "e1"),
    (Cost(), "wall_clock_s", math.nan),
    (Cost(), "wall_clock_s", math.inf),
    (Cost(), "wall_clock_s", -0.1),
    (Cost(), "wall_clock_s", True),
    (Cost(), "wall_clock_s", 10**400),
    (Cost(), "input_tokens", -1),
    (Cost(), "turns", 1.5),
    (Cost(cache_read_tokens=2, cache_write_tokens=3), "cache_tokens", 6),
    (a_usage(), "usage_id", ""),
    (a_usage(), "output_tokens", -1),
    (an_entry(), "session_id", "../../x"),
    (an_entry(), "timestamp", "2026-07-01T10:00:00"),
    (an_entry(), "timestamp", "yesterday"),
    (an_entry(), "input", math.nan),
    (an_entry(), "input", {"deep": [math.inf]}),
    (an_entry(), "input", {1: "a number as a key"}),
    (an_entry(), "input", object()),
    (an_entry(), "attempts", {"attempt": 1}),
    (an_entry(), "attempts", [{"verified": "yes"}]),
    (Attempt(), "tier", True),
]
each_refusal = pytest.mark.parametrize(
    ("record", "name", "value"),
    REFUSED,
    ids=[f"{type(record).__name__}.{name}-{n}" for n, (record, name, _) in enumerate(REFUSED)],
)


@each_refusal
def test_a_bad_value_is_refused_on_assignment_and_changes_nothing(
    record: ValidatedRecord, name: str, value: Any
) -> None:
    before = copy.deepcopy(record)
    with pytest.raises(InvalidRecord, match=name):
        setattr(record, name, value)
    assert record == before


@each_refusal
def test_a_bad_value_is_refused_on_construction_and_on_reading(
    record: ValidatedRecord, name: str, value: Any
) -> None:
    with pytest.raises(InvalidRecord, match=name):
        dataclasses.replace(record, **{name: value})
    with pytest.raises(InvalidRecord, match=name) as caught:
        type(record).from_dict({**record.to_dict(), name: value})
    assert isinstance(caught.value, ValueError)


def test_a_flavor_that_leaves_its_uid_behind_is_refused() -> None:
    session = a_session()
    with pytest.raises(InvalidId, match="flavor"):
        session.flavor = "codex"
    with pytest.raises(InvalidId, match="native_session_id"):
        session.native_session_id = "abd"
    assert session == a_session()


def test_a_session_is_renamed_whole_or_not_at_all() -> None:
    renamed = dataclasses.replace(
        a_session(title="t"), session_uid="codex:abd", flavor="codex", native_session_id="abd"
    )
    assert (renamed.session_uid, renamed.title) == ("codex:abd", "t")


def test_a_refusal_deep_inside_points_there() -> None:
    with pytest.raises(InvalidRecord) as caught:
        Session.from_dict({**VERSION_1, "cost": {"wall_clock_s": math.nan}})
    assert caught.value.field == "cost.wall_clock_s"
    with pytest.raises(InvalidRecord) as caught:
        an_entry(attempts=[Attempt(), {"attempt": -1}])
    assert caught.value.field == "attempts[1].attempt"


def test_a_field_of_a_newer_writer_must_be_json_too() -> None:
    with pytest.raises(InvalidRecord, match="mood"):
        SessionEvent.from_dict({**an_event().to_dict(), "mood": math.nan})
    with pytest.raises(InvalidRecord, match="mood"):
        SessionEvent.from_json(an_event().to_json()[:-1] + ', "mood": 1e999}')


def test_a_value_nested_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidRecord, match="input is nested too deeply"):
        an_entry(input=endless)


# Cost.


def test_the_cached_tokens_are_the_sum_of_their_parts() -> None:
    assert Cost(cache_read_tokens=7, cache_write_tokens=5).cache_tokens == 12
    assert Cost(cache_tokens=12, cache_read_tokens=7, cache_write_tokens=5).cache_tokens == 12
    assert a_usage(cache_write_tokens=5).cache_tokens == 5


def test_the_cached_tokens_follow_a_part_that_changes() -> None:
    cost = Cost(cache_read_tokens=7)
    cost.cache_write_tokens += 5
    cost.cache_read_tokens -= 1
    assert (cost.cache_read_tokens, cost.cache_write_tokens, cost.cache_tokens) == (6, 5, 11)


def test_a_sum_of_version_1_does_not_take_parts_that_disagree() -> None:
    cost = Cost(cache_tokens=500)
    with pytest.raises(InvalidRecord, match="cache_tokens"):
        cost.cache_read_tokens = 7
    assert cost == Cost(cache_tokens=500)


@given(buckets, buckets)
def test_costs_add_up_field_by_field(one: dict[str, int], other: dict[str, int]) -> None:
    total = Cost(**one, turns=1, wall_clock_s=0.5) + Cost(**other, turns=2, wall_clock_s=0.25)
    assert (total.turns, total.wall_clock_s) == (3, 0.75)
    for name in ("input_tokens", "cache_write_tokens", "reasoning_tokens", "web_searches"):
        assert getattr(total, name) == one.get(name, 0) + other.get(name, 0)
    assert total.cache_tokens == total.cache_read_tokens + total.cache_write_tokens


@given(costs, costs)
def test_no_cached_token_is_lost_in_a_sum(one: Cost, other: Cost) -> None:
    assert (one + other).cache_tokens == one.cache_tokens + other.cache_tokens


def test_a_sum_with_a_cost_of_version_1_does_not_guess_what_was_read() -> None:
    total = Cost(cache_tokens=500) + Cost(cache_read_tokens=7, cache_write_1h_tokens=1)
    assert total == Cost(cache_tokens=507)


def test_a_cost_adds_to_costs_alone() -> None:
    assert sum([Cost(turns=1), Cost(turns=2)], Cost()) == Cost(turns=3)
    with pytest.raises(TypeError):
        Cost() + 1  # type: ignore[operator]


def test_the_cost_of_a_session_is_the_sum_of_its_usage() -> None:
    used = [a_usage(input_tokens=3, cache_read_tokens=7), a_usage(output_tokens=4, web_searches=1)]
    assert sum((usage.cost for usage in used), Cost()) == Cost(
        input_tokens=3, output_tokens=4, cache_read_tokens=7, web_searches=1
    )


# Entries of the skill log.


def test_an_entry_keeps_time_input_and_status_as_they_were() -> None:
    line = (
        '{"attempts": [], "final_status": "OK", "input": {"b": 1, "a": [1.50, null]},'
        ' "phase": "", "project_root": "", "session_id": "abc", "skill": "",'
        ' "timestamp": "2026-07-01T10:00:00.123456789+02:00"}'
    )
    entry = Entry.from_json(line)
    assert entry.timestamp == "2026-07-01T10:00:00.123456789+02:00"
    assert (entry.final_status, entry.input) == ("OK", {"b": 1, "a": [1.5, None]})
    assert entry.to_json() == line.replace("1.50", "1.5")


def test_empty_optional_fields_of_an_entry_are_omitted() -> None:
    entry = an_entry(message="", file_path=None, attempts=[Attempt(1, verified=True, feedback="")])
    assert set(entry.to_dict()) == {
        *("session_id", "timestamp", "skill", "phase", "project_root", "input", "attempts"),
        "final_status",
    }
    assert entry.to_dict()["attempts"] == [
        {
            "attempt": 1,
            "model": "",
            "output_summary": "",
            "runner_output": "",
            "verified": True,
        }
    ]


def test_what_is_zero_is_not_empty() -> None:
    assert an_entry(duration_ms=0).to_dict()["duration_ms"] == 0
    assert Attempt(tier=0).to_dict()["tier"] == 0


def test_a_log_written_with_nulls_loads() -> None:
    assert (
        Entry.from_dict({**an_entry().to_dict(), "attempts": None, "message": None}) == an_entry()
    )


# The bugs of the system before, each as it was found.


def test_a_session_that_grew_after_its_analysis_is_not_evictable() -> None:
    session = a_session(revision=4, analyzed_at=TEN, analyzed_revision=4)
    assert session.is_evictable
    session.revision += 1
    assert not session.is_evictable


def test_a_session_is_not_evictable_before_its_analysis_or_twice() -> None:
    assert not a_session().is_evictable
    assert not a_session(analyzed_at=TEN).is_evictable
    assert not a_session(analyzed_revision=0).is_evictable
    assert not a_session(analyzed_at=TEN, analyzed_revision=0, evicted_at=TEN).is_evictable
    assert not Session.from_dict(VERSION_1).is_evictable


@pytest.mark.parametrize("record", [a_session(), an_event(), a_usage(), an_entry(), Cost()])
def test_a_field_of_a_newer_schema_survives_a_round_trip(record: ValidatedRecord) -> None:
    newer = {**record.to_dict(), "mood": {"level": [1, 2.5, None]}}
    assert type(record).from_dict(newer).to_dict() == newer
    assert json.loads(type(record).from_json(json.dumps(newer)).to_json()) == newer


def test_an_empty_native_id_is_refused() -> None:
    with pytest.raises(InvalidId, match="native_session_id"):
        Session("claude:abc", "claude", "")
    with pytest.raises(InvalidId, match="native_session_id"):
        Session.make_uid("claude", "")


def test_a_uid_that_disagrees_with_its_parts_is_refused() -> None:
    with pytest.raises(InvalidId, match="session_uid must be 'claude:abc'.* not 'codex:abc'"):
        Session("codex:abc", "claude", "abc")


def test_an_invalid_outcome_assigned_later_is_refused_at_once() -> None:
    session = a_session(outcome="fail")
    with pytest.raises(InvalidRecord, match="outcome must be one of success, fail, abandoned"):
        session.outcome = "great"
    assert session.outcome == "fail"


def test_a_negative_seq_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="seq must be an integer of 0 or more, not -1"):
        an_event(seq=-1)


def test_an_event_that_is_its_own_parent_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="parent_seq must be another event"):
        an_event(seq=3, parent_seq=3)
    event = an_event(seq=3, parent_seq=2)
    with pytest.raises(InvalidRecord, match="parent_seq"):
        event.seq = 2
    assert event.seq == 3


def test_a_foreign_uid_is_refused() -> None:
    with pytest.raises(InvalidId, match="session_uid"):
        an_event(session_uid="0b1c2d3e")


def test_an_unknown_kind_flavor_or_role_is_kept_as_it_is() -> None:
    event = SessionEvent("newagent:abc", 0, None, "daydream", role="muse", marks=("musing",))
    assert SessionEvent.from_json(event.to_json()) == event
    assert (event.kind, event.role, event.marks) == ("daydream", "muse", ("musing",))
    assert Session("newagent:abc", "newagent", "abc").flavor == "newagent"


def test_nan_never_reaches_the_json() -> None:
    with pytest.raises(InvalidRecord, match="wall_clock_s"):
        Cost(wall_clock_s=math.nan)
    with pytest.raises(InvalidRecord, match="wall_clock_s"):
        Cost.from_json('{"wall_clock_s": NaN}')
    cost = Cost(wall_clock_s=1.5)
    with pytest.raises(InvalidRecord, match="wall_clock_s"):
        cost.wall_clock_s = math.nan
    assert cost.wall_clock_s == 1.5


def test_yesterday_is_not_a_timestamp() -> None:
    with pytest.raises(InvalidTime, match="ts must be an ISO-8601 time, not 'yesterday'"):
        an_event(ts="yesterday")
    with pytest.raises(InvalidTime, match="started_at"):
        a_session(started_at="yesterday")


def test_two_equal_events_without_timestamp_stay_two() -> None:
    one, other = an_event(seq=0, summary="yes"), an_event(seq=1, summary="yes")
    assert one.ts is other.ts is None
    assert one != other
