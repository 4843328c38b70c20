"""The adapter of the skill log: the contract of all adapters, and what its entries become."""

import json
from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.base import Cursor, NativeEvent, Record, SourceRef, Unlisted
from session_memory.adapters.decoding import LONG_LINE
from session_memory.adapters.skill import AGENT as adapter
from session_memory.core.schema import Attempt, Entry
from session_memory.live.skill_log import SkillLog
from session_memory.testing.adapters import AdapterContract, BytesSource

TIME = "2026-07-01T10:00:00.123456789+02:00"
PREDECESSOR = (
    b'{"session_id":"old","timestamp":"2025-11-02T08:00:00.5+01:00","skill":"plan","phase":"red",'
    b'"project_root":"/w/app","input":{"goal":"tests"},"attempts":[{"attempt":1,"model":"small",'
    b'"output_summary":"wrote it","runner_output":"ok","verified":true,"tier":2}],'
    b'"final_status":"pass"}\n'
)


def entries(log: SkillLog) -> None:
    tries = (
        Attempt(attempt=1, model="small", output_summary="no", runner_output="1 failed"),
        Attempt(attempt=2, model="big", output_summary="yes", verified=True, duration_ms=70),
    )
    fields = {"project_root": "/w/app", "phase": "write", "timestamp": TIME}
    log.append(Entry("one", skill="review", attempts=tries, final_status="ok", **fields))
    log.append(Entry("one", skill="review", input="ü" * 90_000, final_status="error", **fields))
    log.append(Entry("one", skill="review", input=[1, None], final_status="skipped", **fields))
    log.append(Entry("two", skill="lint", final_status="later", message="not now", **fields))


class TestSkillLogs(AdapterContract):
    adapter = adapter
    unknown = b'{"session_id":"one","timestamp":"2026-07-01T10:00:00Z","moon":"waxing"}\n'

    @pytest.fixture(autouse=True)
    def _written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        home = tmp_path_factory.mktemp("samples")
        log = SkillLog(home / ".session-memory" / "skills")
        entries(log)
        log.path_of("old").write_bytes(PREDECESSOR)
        type(self).samples = home

    def test_records_say_which_session_they_belong_to(self) -> None:
        super().test_records_say_which_session_they_belong_to()
        sessions = {record.session for source in self._logs() for record in self._read(source)}
        assert sessions == {"one", "two", "old"}

    def test_unknown_kinds_are_kept_as_events(self) -> None:
        for source in self._logs():
            named = self.unknown.replace(b'"one"', f'"{source.ref.session}"'.encode())
            last = self._read(BytesSource(source.ref, source.data + named))[-1]
            assert [event.native_kind for event in last.events] == ["untyped"]
            assert last.problem is None

    def test_usage_is_never_negative_and_names_its_response(self) -> None:
        assert not [r for s in self._logs() for r in self._read(s) if r.usage is not None]


# ---------------------------------------------------------------- what an entry becomes


def read(*lines: bytes | dict[str, Any], session: str = "one") -> list[Record]:
    body = b"".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
    )
    ref = SourceRef(Path(f"{session}.jsonl"), session=session)
    return [record for _, record in adapter.read(BytesSource(ref, body), Cursor())]


def events(**fields: Any) -> list[NativeEvent]:
    (record,) = read({"session_id": "one", "timestamp": TIME, "skill": "review", **fields})
    assert record.problem is None
    return record.events


def test_an_entry_is_a_call_its_attempts_and_its_end() -> None:
    tries = [
        {"attempt": 1, "model": "small", "output_summary": "no", "runner_output": "1 failed"},
        {"attempt": 2, "model": "big", "output_summary": "yes", "verified": True, "duration_ms": 7},
    ]
    found = events(
        phase="write",
        input="the parser",
        attempts=tries,
        final_status="OK",
        file_path="src/a.py",
        duration_ms=99,
        message="done",
    )
    call, first, second, end = found
    assert {event.tool for event in found} == {"review"}
    assert (call.kind, call.summary, call.path) == ("tool_call", "write: the parser", "src/a.py")
    assert (first.kind, first.marks, first.model) == ("assistant_msg", ("error",), "small")
    assert (first.is_error, first.exit_code) == (True, None)
    assert (second.marks, second.model, second.duration_ms) == (("retry",), "big", 7)
    assert (second.is_error, second.exit_code) == (False, 0)
    assert (end.kind, end.native_kind, end.summary) == ("tool_result", "result/OK", "OK: done")
    assert (end.model, end.duration_ms, end.call_id) == ("big", 99, call.call_id)


def test_where_an_entry_names_its_model_that_is_whose_end_it_is() -> None:
    *_, end = events(attempts=[{"model": "small"}], model_used="big", final_status="pass")
    assert end.model == "big"
    *_, end = events(final_status="pass")
    assert end.model is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [("fail", "error"), ("ERROR", "error"), ("pass", "tool_result"), ("skip", "tool_result")]
    + [("whatever", "tool_result"), ("", "tool_result")],
)
def test_only_a_failure_is_an_error(status: str, kind: str) -> None:
    *_, end = events(final_status=status)
    assert (end.kind, end.is_error) == (kind, kind == "error")
    assert end.native_kind == f"result/{status}"


def test_an_attempt_that_nothing_has_checked_is_no_error() -> None:
    (_, attempt, _) = events(attempts=[{"model": "m", "output_summary": "looks good"}])
    assert (attempt.is_error, attempt.exit_code) == (False, None)
    (_, judged, _) = events(attempts=[{"model": "m", "verdict": "fail"}])
    assert judged.is_error


def test_the_moment_is_kept_to_the_millisecond_and_the_place_is_the_projects() -> None:
    (record,) = read({"session_id": "one", "timestamp": TIME, "skill": "x", "project_root": "/w/a"})
    assert record.ts == 1782892800123
    assert record.cwd == "/w/a"


def test_an_entry_of_another_session_than_its_file_is_a_problem() -> None:
    other, own = read(
        {"session_id": "two", "timestamp": TIME, "skill": "x", "final_status": "pass"},
        {"session_id": "one", "timestamp": TIME, "skill": "x", "final_status": "pass"},
    )
    assert (other.problem, other.problem_detail) == ("entry of another session", "two")
    assert other.events == [] and own.events


def test_a_log_with_a_name_that_is_no_id_is_read_all_the_same() -> None:
    (record,) = read({"session_id": "a b/ü", "timestamp": TIME, "skill": "x"}, session="a b/ü")
    assert record.problem is None and record.events
    assert record.session.startswith("x-") and record.unfit_name == "a b/ü"


ODD: tuple[Any, ...] = (7, -1, [], ["a"], "x", None, True, 10**30, {"a": [{}]}, 1e300)
FIELDS = (
    *("timestamp", "skill", "phase", "project_root", "input", "attempts", "final_status"),
    *("file_path", "model_used", "duration_ms", "message"),
)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_another_type_costs_itself_alone(field: str) -> None:
    whole = {"session_id": "one", "timestamp": TIME, "skill": "x", "final_status": "pass"}
    for record in read(*({**whole, field: odd} for odd in ODD)):
        assert record.problem is None
        assert record.events


def test_names_are_bounded_however_long_they_were() -> None:
    found = events(skill="s" * 1_000_000, model_used="m" * 1_000_000, final_status="f" * 1_000_000)
    for event in found:
        sizes = (len(event.tool or ""), len(event.model or ""), len(event.native_kind))
        assert max(sizes) <= 200


def test_more_attempts_than_anybody_makes_are_a_problem_and_no_flood() -> None:
    line = {"session_id": "one", "skill": "x", "attempts": [{}] * 10_001}
    (record,) = read(line)
    assert record.problem == "malformed line"
    parts = b'{"session_id":"one","attempts":[' + b"{}," * (LONG_LINE // 3 + 1) + b"{}]}\n"
    (record,) = read(parts)
    assert record.problem == "malformed line" and "parts" in record.problem_detail


def test_an_odd_attempt_costs_itself_alone() -> None:
    tries = [{"model": ["a"], "verified": True}, 7, {"model": "b"}, None, {"model": "c"}]
    found = events(attempts=tries, final_status="pass")
    assert [(event.model, event.exit_code) for event in found[1:-1]] == [
        (None, 0),
        ("b", None),
        ("c", None),
    ]
    assert found[-1].model == "c"


def test_an_input_of_any_size_and_shape_does_not_cost_the_call() -> None:
    given = [1] * 200_000
    (call, end) = events(input=given, final_status="pass")
    assert call.summary.startswith("[1, 1, 1") and len(call.summary) <= 80
    assert end.native_kind == "result/pass"


def test_a_call_took_what_it_says_or_what_its_attempts_took_together() -> None:
    tries = [{"duration_ms": 5}, {}, {"duration_ms": 7}]
    assert events(attempts=tries, duration_ms=20)[-1].duration_ms == 20
    assert events(attempts=tries)[-1].duration_ms == 12
    assert events(attempts=[{}])[-1].duration_ms is None
    assert events(duration_ms=-1)[-1].duration_ms is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=times(50), deadline=None)
@given(
    words=st.tuples(st.text(min_size=1), st.text(), st.text()),
    given_input=JSON,
    models=st.lists(st.text(), max_size=3),
)
def test_every_entry_that_the_log_takes_gives_its_call_its_attempts_and_its_end(
    words: tuple[str, str, str], given_input: Any, models: list[str]
) -> None:
    skill, phase, status = words
    tries = tuple(Attempt(model=model) for model in models)
    written = Entry("one", TIME, skill, phase, "", given_input, tries, status)
    (record,) = read(written.to_dict())
    assert record.problem is None
    kinds = [event.native_kind for event in record.events]
    assert kinds[:-1] == ["entry", *("attempt" for _ in models)]
    assert kinds[-1].startswith("result/")


# ---------------------------------------------------------------- where logs are found


def test_logs_are_found_in_the_usual_place_and_in_one_of_ones_own(tmp_path: Path) -> None:
    usual = tmp_path / ".session-memory" / "skills"
    own = tmp_path / "own" / "logs"
    for directory in (usual, own):
        entries(SkillLog(directory))
    for root in (tmp_path, usual.parent, usual):
        assert [ref.path for ref in adapter.discover(root)] == [
            usual / "one.jsonl",
            usual / "two.jsonl",
        ]
    assert [ref.path for ref in adapter.discover(own)] == [own / "one.jsonl", own / "two.jsonl"]
    assert [ref.path for ref in adapter.discover(own / "two.jsonl")] == [own / "two.jsonl"]
    assert adapter.roots({}, tmp_path) == [usual]


def test_in_a_directory_of_ones_own_the_logs_of_others_are_left_alone(tmp_path: Path) -> None:
    entries(SkillLog(tmp_path))
    (tmp_path / "other.jsonl").write_text('{"type":"user","sessionId":"x"}\n')
    hook = '{"session_id":"x","timestamp":"2026-07-01T10:00:00Z","skill":"y","event":"stop"}\n'
    (tmp_path / "hook.jsonl").write_text(hook)
    assert {ref.path.name for ref in adapter.discover(tmp_path)} == {"one.jsonl", "two.jsonl"}


def test_what_should_be_a_log_and_is_none_is_said(tmp_path: Path) -> None:
    skills = tmp_path / ".session-memory" / "skills"
    entries(SkillLog(skills))
    (skills / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    found = list(adapter.discover(skills))
    assert [ref.path.name for ref in found] == ["gone.jsonl", "one.jsonl", "two.jsonl"]
    assert isinstance(found[0], Unlisted)


def test_a_link_to_a_directory_above_ends(tmp_path: Path) -> None:
    entries(SkillLog(tmp_path / "logs"))
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs")
    assert len(list(adapter.discover(tmp_path / "logs"))) == 2
