"""Grok under the contract that every adapter keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.adapters.base import Cursor, SourceRef
from session_memory.adapters.grok import AGENT as adapter
from session_memory.adapters.grok import translate
from session_memory.core.roles import LOG, TIMELINE
from session_memory.testing.adapters import HOSTILE, AdapterContract, BytesSource
from session_memory.testing.grok import GrokHome, bash, used

DATA = Path(__file__).parent.parent / "data"
UNKNOWN = (
    b'{"timestamp":1,"method":"_x.ai/session/update","params":{"sessionId":"alpha","update":'
    b'{"sessionUpdate":"moon_phase","summary":"waxing"},"_meta":{"eventId":"alpha-99"}}}\n'
)


class GrokContract(AdapterContract):
    adapter = adapter
    unknown = UNKNOWN


@pytest.mark.parametrize(
    "scenario",
    ["grok/basic", "grok/subagent", "grok_driven/background_nested", "grok_driven/tui"],
)
class TestRecordedSessions(GrokContract):
    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = DATA / scenario / "home"


def a_bit_of_everything(path: Path) -> Path:
    """What the recorded sessions do not hold: going back, forks, refusals, the background."""
    home = GrokHome(path)
    log = home.session("alpha")
    log.prompt("make it work")
    log.think("hm")
    log.say("I lo")
    log.say("ok.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.completed("run_terminal_command", "error")
    log.call("spawn_subagent", description="Look around", prompt="look")
    log.spawned("child", "Look around")
    log.finished("child")
    log.result("done", raw={"type": "SubagentCompleted", "subagent_id": "child"})
    log.interject("quickly")
    log.edit("/home/mira/code/app/a.py")
    log.turn_ended(used(900, 40, cached=500, reasoning=9))
    log.rewind(0)
    log.prompt("make it work, but better")
    log.call("run_terminal_command", command="sleep 99")
    log.result("", status=None, raw=bash("sleep 99", "", signal="backgrounded"))
    log.line("task_completed", own=True, task_snapshot={"task_id": "t1", "exit_code": 3})
    log.line("retry_state", own=True, type="retrying", attempt=1, max_retries=3, reason="529")
    log.call("write", kind="write", file_path="a.py", content="")
    log.reject("write")
    log.call("read_file", target_file="b.py")
    log.turn_ended(used(100, 4), stop="cancelled")
    log.moment("yolo_toggled", enabled=True)
    log.moment("mcp_server_failed", server_name="files", error_message="spawn failed")
    log.files["usage.json"] = b"{}"
    log.files["terminal/call.log"] = b"1 failed"
    child = home.subagent(log, "child", "Look around")
    child.prompt("look")
    child.say("done")
    child.turn_ended(used(80, 3))
    fork = home.fork(log, "beta", lines=12)
    fork.prompt("another way")
    fork.turn_ended(used(50, 2))
    return home.write()


class TestSessionsOfEveryKind(GrokContract):
    @pytest.fixture(autouse=True)
    def _written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        type(self).samples = a_bit_of_everything(tmp_path_factory.mktemp("samples"))


def refs(root: Path) -> Iterator[SourceRef]:
    for ref in adapter.discover(root):
        assert isinstance(ref, SourceRef), ref
        yield from (ref, *ref.companions)


def test_a_timeline_keeps_what_the_contract_says_of_logs(tmp_path: Path) -> None:
    for ref in refs(a_bit_of_everything(tmp_path)):
        if ref.role != TIMELINE:
            continue
        data = ref.path.read_bytes()
        for line in HOSTILE:
            source = BytesSource(ref, data + line + b'{"type":"brand_new","reason":"why"}\n')
            whole = list(adapter.read(source, Cursor()))
            for seen, (cursor, _) in enumerate(whole, start=1):
                assert list(adapter.read(source, cursor)) == whole[seen:]
            records = [record for _, record in whole]
            assert sum(record.length + 1 for record in records) == len(source.data)
            for record in records:
                held = (record.events, record.bookkeeping is not None, record.problem is not None)
                assert sum(map(bool, held)) == 1, record
            assert [event.native_kind for event in records[-1].events] == ["brand_new"]


@pytest.mark.parametrize("field", ["update", "_meta", "sessionId"])
@pytest.mark.parametrize("odd", [b"7", b"[]", b'"x"', b"null", b"true", b"1e400", b'{"a":[{}]}'])
def test_a_field_of_another_type_costs_itself_alone(field: str, odd: bytes) -> None:
    line = (
        b'{"timestamp":1,"method":"session/update","params":{"sessionId":"alpha","update":{},'
        b'"_meta":{"eventId":"alpha-1"},"' + field.encode() + b'":' + odd + b"}}\n"
    )
    ref = SourceRef(Path("updates.jsonl"), LOG, session="alpha")
    ((_, record),) = adapter.read(BytesSource(ref, line), Cursor())
    assert record.events and record.problem is None


def test_a_tool_of_another_type_does_not_cost_the_call() -> None:
    line = (
        b'{"params":{"sessionId":"alpha","update":{"sessionUpdate":"tool_call","toolCallId":"c",'
        b'"title":"grep","_meta":{"x.ai/tool":{"name":["grep"],"kind":7}}}}}\n'
    )
    ref = SourceRef(Path("updates.jsonl"), LOG, session="alpha")
    ((_, record),) = adapter.read(BytesSource(ref, line), Cursor())
    assert [(event.kind, event.tool) for event in record.events] == [("tool_call", "grep")]


FIELDS = (
    *("content", "toolCallId", "title", "status", "rawInput", "rawOutput", "usage", "elapsed_ms"),
    *("prompt_id", "stop_reason", "child_session_id", "target_prompt_index", "task_snapshot"),
    *("model_id", "currentModeId", "attempt", "_meta"),
)


@pytest.mark.parametrize("kind", sorted({*translate._TRANSLATE, "turn_completed"}))
def test_no_update_can_be_written_so_that_it_is_not_read(kind: str) -> None:
    ref = SourceRef(Path("updates.jsonl"), LOG, session="alpha")
    values = (b"7", b"-1", b"[]", b'["a"]', b'"x"', b"null", b"true", b"9" * 30, b'{"a":[{}]}')
    lines = b"".join(
        b'{"params":{"sessionId":"alpha","update":{"sessionUpdate":"%b","toolCallId":"c","%b":%b}}}\n'
        % (kind.encode(), field.encode(), value)
        for field in FIELDS
        for value in values
    )
    records = [record for _, record in adapter.read(BytesSource(ref, lines), Cursor())]
    assert len(records) == len(FIELDS) * len(values)
    assert not [record for record in records if record.problem]
