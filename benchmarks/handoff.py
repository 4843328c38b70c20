"""Sessions of real agents, handed over to other real agents and continued there without a network.

    python benchmarks/handoff.py                             all agents in all directions
    python benchmarks/handoff.py --from claude --to codex    some of them
    python benchmarks/handoff.py --from live,hostile         a live session, and a hostile one
    python benchmarks/handoff.py --from real --real HOME     real sessions of a home with logs
    python benchmarks/handoff.py --keep DIR                  keeps agents, homes and requests
    python benchmarks/handoff.py --json                      the table as JSON

The agents are installed from npm into a scratch directory. Each plays a scenario with a scripted
model. The session is collected, handed over to each other agent, and continued there: the model
edits a file and runs a command. The first request of the continued session must hold every prompt,
answer, call and result of the old one, in order. Of a hostile session, nothing may become a system
or developer message, no file may be written elsewhere, and no secret may be sent.
"""

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from handoff_sources import StoredSource, hostile_source, live_source, real_sources

from session_memory import Memory
from session_memory.conformance import isolation
from session_memory.conformance.driver import Driver, Launch
from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.npm import Npm
from session_memory.conformance.place import AgentPlace, make_repository
from session_memory.conformance.played import AUX, MAIN, Played
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
from session_memory.conformance.sent import Sent
from session_memory.conformance.server import Model, serving
from session_memory.core.time import now_ms
from session_memory.handoff import targets
from session_memory.handoff.conversation import StoredAnswer, StoredPrompt, conversation_of
from session_memory.handoff.folding import split
from session_memory.handoff.handing import Handoff, HandoffOptions, hand_over
from session_memory.handoff.writing import write
from session_memory.redact import mask
from session_memory.testing.hostile_session import SECRET

NAMES = tuple(driver.name for driver in DRIVERS if driver.name in targets())
GO_ON = "Go on here: add a line and count them."
LONG, HEAD = 1_000, 100
# More than that agents fold themselves, or refuse, with a model that they do not know.
MOST_TOKENS = {"copilot": 40_000, "gemini": 40_000, "grok": 40_000}
USUAL_TOKENS = 120_000
# Grok leaves out old results of a long session by itself.
OMITTED = "[Tool result omitted — too old]"
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


_LEFT_OUT = {ord(sign): None for sign in "+-\0"}


@dataclasses.dataclass(frozen=True)
class Result:
    source: str
    target: str
    scenario: str
    calls: int
    folded: int
    cut: int
    seconds: float
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
    parser.add_argument("--from", dest="sources", default=",".join((*NAMES, "live", "hostile")))
    parser.add_argument("--to", dest="targets", default=",".join(NAMES))
    parser.add_argument("--scenarios", default="basic,tools,tool_errors")
    parser.add_argument("--real", type=Path, metavar="HOME", help="logs for the source real")
    parser.add_argument("--sessions", default="", help="parts of the names of real sessions")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="the scratch directory, kept")
    parser.add_argument("--installed", action="store_true", help="look for no newer releases")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _prepare(scratch: Path, options: argparse.Namespace) -> None:
    npm = Npm(scratch)
    for driver in DRIVERS:
        if not options.installed and driver.name in {
            *options.sources.split(","),
            *options.targets.split(","),
        }:
            npm.install(driver(), "")
    words = [sys.executable, __file__, "--inside", "--keep", str(scratch)]
    for name in ("sources", "targets"):
        words += [{"sources": "--from", "targets": "--to"}[name], getattr(options, name)]
    words += ["--scenarios", options.scenarios]
    words += ["--real", str(options.real.resolve())] if options.real else []
    words += ["--sessions", options.sessions] if options.sessions else []
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
    more = f", {result.folded} turns folded" if result.folded else ""
    more += f", {result.cut} long texts cut by the agent" if result.cut else ""
    ended = "; ".join(result.differences) or f"whole, {result.calls} calls{more}, and went on"
    took = f"{result.seconds:.2f} s"
    return f"{result.source:>9} → {result.target:<9} {result.scenario:<12} {took:>7}  {ended}"


class _Continued(Played):
    """An agent may fold a long history beside its work. That request gets no step of the script."""

    def lane_of(self, sent: Sent) -> str:
        return AUX if self._driver.is_summary(sent) else super().lane_of(sent)


def _measured(scratch: Path, options: argparse.Namespace) -> Iterator[Result]:
    npm = Npm(scratch)
    with serving() as model:
        for source in _sources(scratch, options, npm, model):
            for target in DRIVERS:
                if target.name in options.targets.split(",") and target.name != source.name:
                    yield _handed(source, target(), npm, scratch, model)


def _sources(
    scratch: Path, options: argparse.Namespace, npm: Npm, model: Model
) -> Iterator[StoredSource]:
    asked = options.sources.split(",")
    for source in DRIVERS:
        for scenario in SCENARIOS:
            if source.name in asked and scenario.name in options.scenarios.split(","):
                yield _played(source(), scenario, scratch, npm, model)
    if "live" in asked:
        yield live_source(scratch)
    if "hostile" in asked:
        yield hostile_source(scratch)
    if "real" in asked and options.real:
        for one in real_sources(scratch, options.real):
            if any(part in one.scenario for part in options.sessions.split(",")):
                yield one


def _played(
    source: Driver, scenario: Scenario, scratch: Path, npm: Npm, model: Model
) -> StoredSource:
    home = scratch / "sources" / source.name / scenario.name
    if not (home / "store.db").exists():
        done = perform(source, _program(npm, source), scenario, home, model)
        with Memory(home / "store.db") as memory:
            memory.sync(roots=[done.home])
    with Memory(home / "store.db") as memory:
        uid = next(one.uid for one in memory.sessions() if one.record.relation != "subagent")
    return StoredSource(source.name, scenario.name, home / "store.db", uid)


def _program(npm: Npm, driver: Driver) -> InstalledProgram:
    found = npm.installed(driver, "")
    if found is None or found.program is None:
        sys.exit(f"{driver.name} is not installed: {npm.remark(driver, '')}")
    return InstalledProgram(found.program, found.version, npm.node, found.remark)


def _handed(source: StoredSource, target: Driver, npm: Npm, scratch: Path, model: Model) -> Result:
    directory = scratch / "handed" / f"{source.name}-{target.name}" / source.scenario
    place = AgentPlace.made(directory, model.url)
    program = _program(npm, target)
    environment = place.environment(program.node) | target.environment(place)
    target.configure(place)
    target.trust(place)
    make_repository(place, REPOSITORY, environment)
    with Memory(source.store) as memory:
        most = MOST_TOKENS.get(target.name, USUAL_TOKENS)
        options = HandoffOptions(cwd=str(place.repo), tokens=most)
        start = time.process_time()
        handoff = hand_over(memory.store, source.uid, target.name, options, now_ms(), environment)
        seconds = time.process_time() - start
        expected = list(_expected(memory, source.uid, most))
    bin = str(program.path.parent)
    write(handoff, environment | {"PATH": f"{bin}{os.pathsep}{environment['PATH']}"})
    played = _Continued(target, CONTINUED, place, Ids(f"{target.name}/handoff"))
    model.play(played)
    turn = CONTINUED.turns[0]
    played.begin(turn)
    launch = Launch(turn.prompt, RESUME, True, target.models[0])
    words = [str(program.path), *target.arguments(launch, place)]
    run = run_agent(words, place.repo, environment, directory / "run.log", target.seconds)
    for number, request in enumerate(played.requests, 1):
        (directory / f"request-{number}.json").write_bytes(request.sent.raw)
    cut: list[str] = []
    differences = [
        *_differences(played, expected, place, run.status, cut),
        *_harm(source, played, handoff, directory),
    ]
    return Result(
        source.name,
        target.name,
        source.scenario,
        handoff.calls,
        handoff.folded_turns,
        len(cut),
        seconds,
        differences,
    )


def _harm(source: StoredSource, played: Played, handoff: Handoff, directory: Path) -> Iterator[str]:
    """What a hostile session reached beyond the conversation."""
    elsewhere = [one.path for one in handoff.files if not one.path.is_relative_to(directory)]
    if elsewhere:
        yield f"files elsewhere: {elsewhere}"
    for request in (one.sent for one in played.requests):
        if SECRET[13:60] in request.raw.decode("utf-8", "replace"):
            yield "a secret was sent"
        if source.canary and request.wire is not None:
            key = request.wire.conversation
            if source.canary in json.dumps(
                [value for name, value in request.body.items() if name != key]
            ):
                yield "text of the session is outside of the conversation"
            roles = [
                one.get("role")
                for one in request.body.get(key) or ()
                if isinstance(one, dict) and source.canary in json.dumps(one)
            ]
            if {"system", "developer"} & set(roles):
                yield "text of the session is a system or developer message"


def _expected(memory: Memory, uid: str, most: int) -> Iterator[tuple[str, bool]]:
    """The texts that the next request must hold, in order, and whether each is a result."""
    _, kept = split(conversation_of(memory.store, uid, mask).steps, None, most)
    for step in (step for turn in kept for step in turn):
        if isinstance(step, StoredPrompt):
            yield step.text, False
        elif isinstance(step, StoredAnswer):
            yield from ((text, False) for text in step.texts)
            for call in step.calls:
                yield from ((text, False) for text in _telling(call.arguments))
            for call in step.calls:
                yield call.result, True


def _telling(arguments: Any) -> Iterator[str]:
    """What an argument says that every agent's tool must say too: commands and written texts."""
    for name in ("command", "cmd", "content", "file_text"):
        if isinstance(arguments, dict) and isinstance(value := arguments.get(name), str):
            yield value


def _differences(
    played: Played,
    expected: list[tuple[str, bool]],
    place: AgentPlace,
    status: int | None,
    cut: list[str],
) -> Iterator[str]:
    requests = [one.sent for one in played.requests if one.lane == MAIN]
    if not requests:
        yield f"no request; it ended with status {status}"
        return
    first = requests[0].body.get(requests[0].wire.conversation)
    strings = "\n".join(_strings(first))
    sent, at = _plain(strings), 0
    omitted = strings.count(OMITTED)
    cut += [OMITTED] * omitted
    missing = []
    for text in (text for text, is_result in expected if not (is_result and omitted)):
        wanted = _plain(text)
        if (found := sent.find(wanted, at)) >= 0:
            at = found
        elif len(wanted) > LONG and sent.find(wanted[:HEAD], at) >= 0:
            # An agent may cut long results itself.
            cut.append(text)
        else:
            what = "missing" if wanted not in sent else "not in order"
            missing.append(f"{what}: {text[:60]!r}")
    yield from missing[:3]
    if missing[3:]:
        yield f"{len(missing) - 3} more of {len(expected)}"
    calls, results = _count(first, _is_call), _count(first, _is_result)
    if calls != results:
        yield f"{calls} calls and {results} results"
    more = place.repo / "more.txt"
    if not more.exists() or more.read_text() != "two\n":
        yield "the edit after the handoff did not work"
    if played.skipped:
        yield f"{played.skipped} replies of the model were not asked for"


def _plain(text: str) -> str:
    """Without white space, without the signs that a patch puts before its lines, and without what
    no program can send."""
    kept = text.translate(_LEFT_OUT).encode("utf-8", "replace").decode()
    return "".join(kept.replace("\ufffd", "?").split())


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
