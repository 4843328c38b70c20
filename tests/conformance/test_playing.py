"""A scenario is played with a small program in place of an agent: it asks the model and logs."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.conformance import running, talking
from session_memory.conformance.driver import Driver, Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.playing import InstalledProgram, Performance, perform
from session_memory.conformance.recording import record
from session_memory.conformance.reply import HANG, PAUSE, ModelCall
from session_memory.conformance.running import run_agent
from session_memory.conformance.scenario import (
    INTERRUPT,
    RESUME,
    RunShell,
    Scenario,
    ScriptedTurn,
    Step,
)
from session_memory.conformance.server import Model, serving

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

_AGENT = """
import json, os, pathlib, sys, urllib.request
log = pathlib.Path(os.environ["HOME"]) / ".small" / "log.jsonl"
log.parent.mkdir(exist_ok=True)
said, asks = [{"role": "user", "content": sys.argv[1]}], True
while asks:
    body = {"model": "m-1", "messages": said, "tools": [{"name": "run"}], "stream": STREAM}
    asked = urllib.request.Request(sys.argv[2] + "/v1/messages", json.dumps(body).encode())
    answer = urllib.request.urlopen(asked).read().decode()
    with log.open("a") as file:
        file.write(answer.replace("\\n", " ") + "\\n")
    asks = "tool_use" in answer
    said.append({"role": "user", "content": "done"})
"""

_LISTENING = """
import json, os, sys, urllib.request
for line in sys.stdin:
    asks = True
    while asks:
        said = [{"role": "user", "content": line}]
        body = {"model": "m-1", "messages": said, "tools": [{"name": "run"}], "stream": True}
        url = os.environ["URL"] + "/v1/messages"
        asked = urllib.request.Request(url, json.dumps(body).encode())
        asks = "tool_use" in urllib.request.urlopen(asked).read().decode()
    print("answered", line, flush=True)
"""


class Small(Driver):
    name, title, package, program = "small", "Small", "small", "small"
    logs = (".small",)
    seconds = 20.0

    def configure(self, place: AgentPlace) -> None:
        place.write("node_modules/x.js", "not a log")

    def arguments(self, launch: Launch, place: AgentPlace) -> list[str]:
        code = _AGENT.replace("STREAM", str("long" in launch.prompt))
        return ["-c", code, launch.prompt, place.url]

    def environment(self, place: AgentPlace) -> dict[str, str]:
        return {"URL": place.url}

    def listening(self, launch: Launch) -> list[str]:
        return ["-c", _LISTENING]

    def spoken(self, prompt: str, is_queued: bool = False) -> str:
        return f"{prompt} queued" if is_queued else prompt

    def shell(self, command: str) -> ModelCall:
        return ModelCall("run", {"command": command})

    def write(self, path: Path, text: str) -> ModelCall:
        return self.shell(f"echo {text} > {path}")

    def edit(self, path: Path, old: str, new: str) -> ModelCall:
        return self.shell(f"sed -i s/{old}/{new}/ {path}")


SCENARIO = Scenario(
    "two_turns",
    "a command, a stop and a second run",
    (
        ScriptedTurn("Look.", (Step("", (RunShell("ls", fails=True),)), Step("Seen."))),
        ScriptedTurn(
            "Take long.", (Step("Words " * 20, fault=HANG),), RESUME, stopped_by=INTERRUPT
        ),
    ),
)


@pytest.fixture
def model() -> Iterator[Model]:
    with serving() as one:
        yield one


def played(
    model: Model, directory: Path, scenario: Scenario = SCENARIO, driver: Driver | None = None
) -> Performance:
    program = InstalledProgram(Path(sys.executable), "1.0", Path("/usr/bin"))
    return perform(driver or Small(), program, scenario, directory / "run", model)


def test_a_played_scenario_has_its_truth_and_is_recorded(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_SEEN", 0.0)
    done = played(model, tmp_path)
    truth = done.truth
    assert [one["group"] for one in truth["requests"]] == ["main", "main", "incomplete"]
    assert truth["prompts"] == ["Look.", "Take long."] and truth["skipped"] == 0
    counts = truth["truth"]
    assert (counts["tool_calls"], counts["tool_errors"], counts["interrupted"]) == (1, 1, True)
    total = counts["tokens"]["conversation(main+subagents)"]["total"]
    assert total == sum(one["tokens"]["total"] for one in truth["requests"][:2])
    assert [run.status for run in done.runs][0] == 0 and done.runs[1].status not in (0, None)
    written = record(Small(), done.home, tmp_path / "recordings", truth)
    files = [str(path.relative_to(written)) for path in written.rglob("*") if path.is_file()]
    assert sorted(files) == ["EXPECTED.json", "home/.small/log.jsonl"]
    assert written == tmp_path / "recordings" / "small-1.0" / "two_turns"


class SmallAndLoud(Small):
    over = "answered And then? queued"


@pytest.mark.parametrize("driver", [Small(), SmallAndLoud()], ids=["closed", "over"])
def test_queued_prompts_are_sent_while_the_model_pauses(
    driver: Driver, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talking, "_TYPING", 0.0)
    steps = (
        Step("I look.", (RunShell("ls"),), fault=PAUSE),
        Step("Here is what I saw, slowly.", fault=PAUSE),
        Step("All.", again=True),
    )
    turn = ScriptedTurn("Look.", steps, queued=("And now?", "And then?"))
    done = played(model, tmp_path, Scenario("queued", "queued", (turn,)), driver)
    requests = done.truth["requests"]
    assert [one["group"] for one in requests] == ["main"] * 4
    assert [one.get("fault") for one in requests] == ["pause", "pause", None, None]
    assert done.truth["prompts"] == ["Look.", "And now?", "And then?"]
    assert done.truth["skipped"] == 0 and done.runs[0].status == 0
    assert done.runs[0].output.split("\n\n")[1:3] == [
        "answered And now? queued",
        "answered And then? queued",
    ]


def test_a_run_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    code = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    begun = time.monotonic()
    run = run_agent(
        [sys.executable, "-c", code], tmp_path, environment, tmp_path / "log", 0.5, grace=0.1
    )
    assert run.status is None and time.monotonic() - begun < 10
    left = run_agent(["true"], tmp_path, environment, tmp_path / "log", 5, grace=0)
    assert left.left == []


def test_what_an_agent_leaves_behind_is_ended_and_told(tmp_path: Path) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)"
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    run = run_agent(
        [sys.executable, "-c", code],
        tmp_path,
        environment,
        tmp_path / "log",
        10,
        hanging=threading.Event(),
        grace=0.1,
    )
    assert run.status == 0 and run.left == ["sleep 60"]
