"""Play one scenario with one installed agent."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session_memory.conformance.driver import Driver, Launch
from session_memory.conformance.place import AgentPlace, make_repository
from session_memory.conformance.played import Played
from session_memory.conformance.recording import expected
from session_memory.conformance.reply import Ids
from session_memory.conformance.running import Run, run_agent
from session_memory.conformance.scenario import COMPACT, Scenario, ScriptedTurn
from session_memory.conformance.scenarios import REPOSITORY
from session_memory.conformance.server import Model
from session_memory.conformance.talking import Talk

_SEEN = "seen"


@dataclass(frozen=True)
class InstalledProgram:
    """An installed agent. ``node`` is the directory of Node.js, for the agent's ``PATH``."""

    path: Path
    version: str
    node: Path
    remark: str = ""


@dataclass(frozen=True)
class Performance:
    """What happened in a scenario: `truth`, what the script did as in `EXPECTED.json`, and `home`,
    the directory with the agent's logs."""

    home: Path
    truth: dict[str, Any]
    runs: list[Run]


def perform(
    driver: Driver, program: InstalledProgram, scenario: Scenario, directory: Path, model: Model
) -> Performance:
    """Run the agent once for every turn of the scenario, in a home of its own."""
    place = AgentPlace.made(directory, model.url)
    environment = place.environment(program.node)
    driver.configure(place)
    driver.trust(place)
    make_repository(place, REPOSITORY, environment)
    played = Played(driver, scenario, place, Ids(f"{driver.name}/{scenario.name}"))
    model.play(played)
    runs = []
    for number, turn in enumerate(_turns(driver, scenario), 1):
        played.begin(turn)
        model.hanging.clear()
        launch = _launch(driver, turn)
        variables = environment | driver.environment(place) | driver.variables(launch)
        for words in driver.preparations(launch, place):
            log = directory / f"{number}-before.log"
            run_agent([str(program.path), *words], place.repo, variables, log, driver.seconds)
        talk = _talk(driver, turn, model)
        started = driver.listening(launch) if talk else driver.arguments(launch, place)
        run = run_agent(
            [str(program.path), *started],
            place.repo,
            variables,
            directory / f"{number}.log",
            driver.seconds,
            stopped_by=turn.stopped_by,
            hanging=model.hanging,
            talk=talk,
        )
        runs.append(run)
        if driver.deletes_logs:
            gather(driver, place, directory / _SEEN)
    for number, request in enumerate(played.requests, 1):
        (directory / f"request-{number}.json").write_bytes(request.sent.raw)
    truth = expected(driver, program.version, scenario, place, played, runs)
    return Performance(directory / _SEEN if driver.deletes_logs else place.home, truth, runs)


def gather(driver: Driver, place: AgentPlace, seen: Path) -> None:
    """Copy the agent's logs to ``seen``, so that logs which the agent deletes later are kept."""
    for logs in driver.logs:
        if (place.home / logs).is_dir():
            shutil.copytree(place.home / logs, seen / logs, dirs_exist_ok=True)


def _turns(driver: Driver, scenario: Scenario) -> Iterator[ScriptedTurn]:
    """Yield the turns to play. If no prompt makes the agent compact, such turns are left out: the
    agent compacts by itself when its context is full."""
    return (turn for turn in scenario.turns if turn.start != COMPACT or driver.compact_prompt)


def _talk(driver: Driver, turn: ScriptedTurn, model: Model) -> Talk | None:
    if not turn.queued:
        return None
    lines = [driver.spoken(turn.prompt), *(driver.spoken(one, True) for one in turn.queued)]
    return Talk(lines, model.hanging, model.going_on, driver.over)


def _launch(driver: Driver, turn: ScriptedTurn) -> Launch:
    prompt = turn.prompt or driver.compact_prompt
    return Launch(prompt, turn.start, turn.approve, driver.models[turn.other_model])
