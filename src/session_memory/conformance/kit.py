"""The kit: install agents, play scenarios with them, record and compare.

The part that runs the agents is a process without a network (`python -m
session_memory.conformance`). It prints one result a line, and all that it started ends with it.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from session_memory.adapters.registry import flavors
from session_memory.conformance.comparing import Difference, played_in_full
from session_memory.conformance.driver import Driver
from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.found import found_in
from session_memory.conformance.isolation import words_without_network
from session_memory.conformance.npm import Npm
from session_memory.conformance.playing import InstalledProgram, Performance, perform
from session_memory.conformance.pypi import PyPi
from session_memory.conformance.recording import record
from session_memory.conformance.result import (
    CANNOT,
    DIFFERS,
    EQUAL,
    MISSING,
    RECORDED,
    Result,
    compared,
    declared_by,
    judged,
)
from session_memory.conformance.scenario import Scenario
from session_memory.conformance.scenarios import NAMES, SCENARIOS
from session_memory.conformance.server import Model, serving
from session_memory.core.errors import SessionMemoryError

AGENTS = tuple(driver.name for driver in DRIVERS)


class KitStopped(SessionMemoryError):
    """The process that runs the agents failed before it had played all scenarios."""

    hint = "Look at what it printed above, and try one agent and one scenario."


@dataclass(frozen=True)
class Order:
    """Which agents to run, in which releases and scenarios.

    `scratch` is the directory to install and run them in. `record` is a directory for recordings;
    if it is empty, nothing is recorded.
    """

    scratch: str
    agents: Sequence[str] = AGENTS
    scenarios: Sequence[str] = NAMES
    versions: Mapping[str, str] = field(default_factory=dict)
    record: str = ""

    def drivers(self) -> Iterator[Driver]:
        return (driver() for driver in DRIVERS if driver.name in self.agents)

    def version(self, driver: Driver) -> str:
        return self.versions.get(driver.name, "")


class Registries:
    """npm and PyPI. npm is needed for the Node.js that the agents find in their path."""

    def __init__(self, scratch: Path) -> None:
        self._npm, self._pypi = Npm(scratch), PyPi(scratch)
        self.node = self._npm.node

    def of(self, driver: Driver) -> Npm | PyPi:
        return self._pypi if driver.registry == "pypi" else self._npm


def carried_out(order: Order) -> Iterator[Result]:
    """Install the agents, then play the scenarios without a network. Yield each result."""
    registries = Registries(Path(order.scratch))
    for driver in order.drivers():
        registries.of(driver).install(driver, order.version(driver))
    program = [sys.executable, "-m", __package__, json.dumps(asdict(order))]
    words, environment = words_without_network(program)
    # The new process ends when its standard input is closed, which happens when this process ends.
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True)
    try:
        for line in process.stdout or ():
            yield Result(**json.loads(line))
    finally:
        # If the caller stops reading results, the agents are stopped as well.
        if process.poll() is None:
            process.terminate()
        status = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
    if status:
        raise KitStopped(f"the part that drives agents ended with status {status}")


def played_without_network(order: Order) -> Iterator[Result]:
    """Play all scenarios of an order with agents that are installed. Yield each result."""
    registries = Registries(Path(order.scratch))
    with serving() as model:
        for driver in order.drivers():
            registry = registries.of(driver)
            installed = registry.installed(driver, order.version(driver))
            if installed is None or installed.program is None:
                yield Result(driver.name, "", "", MISSING, [_reason(registry, driver, order)])
                continue
            program = InstalledProgram(
                installed.program, installed.version, registries.node, installed.remark
            )
            for scenario in SCENARIOS:
                if scenario.name in order.scenarios:
                    yield _result(driver, program, scenario, order, model)


def _reason(registry: Npm | PyPi, driver: Driver, order: Order) -> str:
    return registry.remark(driver, order.version(driver)) or "it is not installed"


def _result(
    driver: Driver, program: InstalledProgram, scenario: Scenario, order: Order, model: Model
) -> Result:
    begun = time.monotonic()
    blank = Result(
        driver.name,
        program.version,
        scenario.name,
        CANNOT,
        date=datetime.now(UTC).date().isoformat(),
        remark=program.remark,
    )
    if reason := driver.why_not(scenario):
        return replace(blank, differences=[reason])
    directory = Path(order.scratch) / "runs" / driver.name / scenario.name
    try:
        done = perform(driver, program, scenario, directory, model)
    except (OSError, subprocess.SubprocessError) as error:
        # One agent that cannot be started, or wrote nothing to resume, does not stop the others.
        return replace(blank, status=DIFFERS, differences=[f"not played: {error}"])
    if order.record:
        record(driver, done.home, Path(order.record), done.truth)
    wrong, known, status = _judgement(driver, scenario, done)
    seconds = round(time.monotonic() - begun, 1)
    return replace(blank, status=status, differences=wrong, known=known, seconds=seconds)


def _judgement(
    driver: Driver, scenario: Scenario, done: Performance
) -> tuple[list[str], list[str], str]:
    late = [
        Difference("time", f"run {number} took longer than {driver.seconds:.0f} s")
        for number, run in enumerate(done.runs, 1)
        if run.status is None
    ]
    if driver.name not in flavors():
        # Without an adapter nothing is compared, only whether the script was played to its end.
        declared = declared_by(driver, scenario.name)
        unread = [one for one in [*late, *played_in_full(done.truth)] if one.key not in declared]
        return [one.text for one in unread], [], DIFFERS if unread else RECORDED
    found = found_in(done.home, driver.name)
    differences = compared(driver, done.truth, found)
    wrong, known = judged(driver, scenario.name, [*late, *differences])
    return wrong, known, DIFFERS if wrong else EQUAL
