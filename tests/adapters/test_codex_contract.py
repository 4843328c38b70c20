"""Codex under the contract that every adapter keeps."""

from pathlib import Path

import pytest

from session_memory.adapters.codex import AGENT as adapter
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.codex import BARE, LEGACY, CodexHome, ran

SAMPLES = Path(__file__).parent.parent / "data" / "codex"
UNKNOWN = b'{"timestamp":"2026-11-01T09:00:00.000Z","type":"moon_phase","payload":{"full":true}}\n'


class CodexContract(AdapterContract):
    adapter = adapter
    unknown = UNKNOWN


@pytest.mark.parametrize("scenario", ["basic", "subagent", "resume", "interrupt", "codemode"])
class TestRecordedSessions(CodexContract):
    @pytest.fixture(autouse=True)
    def _recorded(self, scenario: str) -> None:
        type(self).samples = SAMPLES / scenario / "home"


class TestLogsOfEveryGeneration(CodexContract):
    """What the recorded ones do not hold: old generations, forks of both sorts, damage."""

    @pytest.fixture(autouse=True)
    def _written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        home = CodexHome(tmp_path_factory.mktemp("samples"))
        bare = home.session("bare", BARE)
        bare.raw(b'{"record_type":"state"}\n')
        bare.prompt("look")
        bare.call("shell", command=["bash", "-lc", "ls"])
        bare.result('{"output":"a.py","metadata":{"exit_code":0,"duration_seconds":0.1}}')
        bare.answer("one file")

        old = home.session("old", LEGACY)
        old.turn("make it work")
        old.think("hm", "well")
        old.answer("I look.")
        old.shell("ls")
        old.used(input=50, read=20, output=9)
        old.event("exec_command_end", call_id=old.call_id, exit_code=2, stdout="")
        old.result(ran(2, "no"))
        old.count()
        old.raw(b"\n{broken\n  \n")
        old.interrupt()
        old.event("thread_rolled_back", num_turns=1)
        old.turn("again", approval_policy="never")
        old.answer("done")
        old.used(input=70, output=5)
        old.complete()
        copied = home.session("copied", LEGACY)
        copied.copy([line for line in old.lines if line.startswith(b'{"')])
        copied.turn("another way")
        copied.answer("so be it")
        copied.used(input=80, output=3)

        new = home.session("new")
        new.turn("go on")
        new.custom("exec", 'await tools.exec_command({"cmd":"pytest -q"})')
        new.used(input=10, output=4)
        new.result([{"type": "input_text", "text": "Script completed"}])
        new.line("compacted", {"message": "so far", "replacement_history": []})
        new.item("ContextCompaction", id="c1")
        new.line("response_item", {"type": "web_search_call", "status": "completed"})
        new.complete(error={"message": "overloaded"})
        fork = home.fork(new, "fork")
        fork.turn("the other thing")
        fork.answer("yes")
        fork.used(input=12, output=2)
        child = home.subagent(new, "child", subagent_history_start_ordinal=2)
        child.say("user", "go on")
        child.turn("look at it")
        child.answer("seen")
        type(self).samples = home.write()
