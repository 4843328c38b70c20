"""Sessions of real agents, handed over to other real agents and continued there without a network.

    python benchmarks/handoff.py                             all agents in all directions
    python benchmarks/handoff.py --from claude --to codex    some of them
    python benchmarks/handoff.py --keep DIR                  keeps agents, homes and requests
    python benchmarks/handoff.py --json                      the table as JSON

The agents are installed from npm into a scratch directory. Each plays a scenario with a scripted
model. The session is collected, handed over to each other agent, and continued there: the model
edits a file and runs a command. The first request of the continued session must hold every prompt,
answer, call and result of the old one, in order.
"""

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from session_memory import Memory
from session_memory.conformance import isolation
from session_memory.conformance.driver import Driver, Launch
from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.npm import Npm
from session_memory.conformance.place import AgentPlace, make_repository
from session_memory.conformance.played import MAIN, Played
from session_memory.conformance.playing import InstalledProgram, perform
from session_memory.conformance.reply import Ids
from session_memory.conformance.running import run_agent
from session_memory.conformance.scenario import (
    RESUME,
    EditFile,
    RunShell,
    Scenario,
    ScriptedTurn,
    Step,
    WriteFile,
)
from session_memory.conformance.scenarios import REPOSITORY, SCENARIOS
from session_memory.conformance.server import Model, serving
from session_memory.core.time import now_ms
from session_memory.handoff.conversation import StoredAnswer, StoredPrompt, conversation_of
from session_memory.handoff.handing import HandoffOptions, hand_over
from session_memory.handoff.writing import write
from session_memory.redact import mask

NAMES = tuple(driver.name for driver in DRIVERS)
GO_ON = "Go on here: add a line and count them."
CONTINUED = Scenario(
    "handoff",
    "a session of another agent goes on",
    (
        ScriptedTurn(
            GO_ON,
            (
                Step("", (WriteFile("more.txt", "one\n"),)),
                Step("", (EditFile("more.txt", "one", "two"),)),
                Step("", (RunShell("wc -l more.txt"),)),
                Step("There is one line."),
            ),
            RESUME,
        ),
    ),
)


@dataclasses.dataclass(frozen=True)
class Result:
    source: str
    target: str
    scenario: str
    calls: int
    differences: list[str]


def main() -> None:
    # Whoever stops the bench stops what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options = _options()
    if options.inside:
        for result in _measured(options.keep, options):
            print(json.dumps(dataclasses.asdict(result)), flush=True)
    elif options.keep is None:
        with tempfile.TemporaryDirectory(prefix="handoff-") as scratch:
            _prepare(Path(scratch), options)
    else:
        options.keep.mkdir(parents=True, exist_ok=True)
        _prepare(options.keep.resolve(), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--from", dest="sources", default=",".join(NAMES))
    parser.add_argument("--to", dest="targets", default=",".join(NAMES))
    parser.add_argument("--scenarios", default="basic,tools,tool_errors")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="the scratch directory, kept")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _prepare(scratch: Path, options: argparse.Namespace) -> None:
    npm = Npm(scratch)
    for driver in DRIVERS:
        if driver.name in {*options.sources.split(","), *options.targets.split(",")}:
            npm.install(driver(), "")
    words = [sys.executable, __file__, "--inside", "--keep", str(scratch)]
    for name in ("sources", "targets"):
        words += [{"sources": "--from", "targets": "--to"}[name], getattr(options, name)]
    words += ["--scenarios", options.scenarios]
    words, environment = isolation.words_without_network(words)
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    results = []
    for line in process.stdout or ():
        result = Result(**json.loads(line))
        results.append(result)
        if not options.json:
            print(_line(result), flush=True)
    if process.wait():
        sys.exit(f"the part that drives agents ended with status {process.returncode}")
    if options.json:
        print(json.dumps([dataclasses.asdict(result) for result in results], indent=2))
    elif any(result.differences for result in results):
        sys.exit(1)


def _line(result: Result) -> str:
    ended = "; ".join(result.differences) or f"whole, {result.calls} calls, and went on"
    return f"{result.source:>9} → {result.target:<9} {result.scenario:<12} {ended}"


def _measured(scratch: Path, options: argparse.Namespace) -> Iterator[Result]:
    npm = Npm(scratch)
    scenarios = [one for one in SCENARIOS if one.name in options.scenarios.split(",")]
    with serving() as model:
        for source in DRIVERS:
            if source.name not in options.sources.split(","):
                continue
            for scenario in scenarios:
                home = scratch / "sources" / source.name / scenario.name
                if not (home / "store.db").exists():
                    done = perform(source(), _program(npm, source()), scenario, home, model)
                    with Memory(home / "store.db") as memory:
                        memory.sync(roots=[done.home])
                for target in DRIVERS:
                    if target.name in options.targets.split(",") and target is not source:
                        yield _handed(home, source(), target(), scenario, npm, scratch, model)


def _program(npm: Npm, driver: Driver) -> InstalledProgram:
    found = npm.installed(driver, "")
    if found is None or found.program is None:
        sys.exit(f"{driver.name} is not installed: {npm.remark(driver, '')}")
    return InstalledProgram(found.program, found.version, npm.node, found.remark)


def _handed(
    home: Path,
    source: Driver,
    target: Driver,
    scenario: Scenario,
    npm: Npm,
    scratch: Path,
    model: Model,
) -> Result:
    directory = scratch / "handed" / f"{source.name}-{target.name}" / scenario.name
    place = AgentPlace.made(directory, model.url)
    program = _program(npm, target)
    environment = place.environment(program.node) | target.environment(place)
    target.configure(place)
    target.trust(place)
    make_repository(place, REPOSITORY, environment)
    with Memory(home / "store.db") as memory:
        uid = next(one.uid for one in memory.sessions() if one.record.relation != "subagent")
        options = HandoffOptions(cwd=str(place.repo))
        handoff = hand_over(memory.store, uid, target.name, options, now_ms(), environment)
        expected = list(_expected(memory, uid))
    bin = str(program.path.parent)
    write(handoff, environment | {"PATH": f"{bin}{os.pathsep}{environment['PATH']}"})
    played = Played(target, CONTINUED, place, Ids(f"{target.name}/handoff"))
    model.play(played)
    turn = CONTINUED.turns[0]
    played.begin(turn)
    launch = Launch(turn.prompt, RESUME, True, target.models[0])
    words = [str(program.path), *target.arguments(launch, place)]
    run = run_agent(words, place.repo, environment, directory / "run.log", target.seconds)
    for number, request in enumerate(played.requests, 1):
        (directory / f"request-{number}.json").write_bytes(request.sent.raw)
    differences = list(_differences(played, expected, place, run.status))
    return Result(source.name, target.name, scenario.name, handoff.calls, differences)


def _expected(memory: Memory, uid: str) -> Iterator[str]:
    """The texts that the next request must hold, in order."""
    for step in conversation_of(memory.store, uid, mask).steps:
        if isinstance(step, StoredPrompt):
            yield step.text
        elif isinstance(step, StoredAnswer):
            yield from step.texts
            for call in step.calls:
                yield from _telling(call.arguments)
            for call in step.calls:
                yield call.result


def _telling(arguments: Any) -> Iterator[str]:
    """What an argument says that every agent's tool must say too: commands and written texts."""
    for name in ("command", "cmd", "content", "file_text"):
        if isinstance(arguments, dict) and isinstance(value := arguments.get(name), str):
            yield value


def _differences(
    played: Played, expected: list[str], place: AgentPlace, status: int | None
) -> Iterator[str]:
    requests = [one.sent for one in played.requests if one.lane == MAIN]
    if not requests:
        yield f"no request; it ended with status {status}"
        return
    first = requests[0].body.get(requests[0].wire.conversation)
    sent, at = _plain("\n".join(_strings(first))), 0
    for text in expected:
        if (found := sent.find(_plain(text), at)) < 0:
            yield f"{'missing' if _plain(text) not in sent else 'not in order'}: {text[:60]!r}"
        else:
            at = found
    calls, results = _count(first, _is_call), _count(first, _is_result)
    if calls != results:
        yield f"{calls} calls and {results} results"
    more = place.repo / "more.txt"
    if not more.exists() or more.read_text() != "two\n":
        yield "the edit after the handoff did not work"
    if played.skipped:
        yield f"{played.skipped} replies of the model were not asked for"


def _plain(text: str) -> str:
    """Without white space, and without the signs that a patch puts before its lines."""
    return "".join(text.translate({ord(sign): None for sign in "+-"}).split())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if value[:1] in "{[":
            try:
                yield from _strings(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _count(value: Any, wanted: Any) -> int:
    if isinstance(value, dict):
        return wanted(value) + sum(_count(inner, wanted) for inner in value.values())
    return sum(_count(inner, wanted) for inner in value) if isinstance(value, list) else 0


def _is_call(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return (
        kind in ("tool_use", "function_call", "custom_tool_call")
        or "functionCall" in value
        or (kind == "function" and "function" in value)
    )


def _is_result(value: dict[str, Any]) -> bool:
    kinds = ("tool_result", "function_call_output", "custom_tool_call_output")
    return value.get("type") in kinds or "functionResponse" in value or value.get("role") == "tool"


if __name__ == "__main__":
    main()
