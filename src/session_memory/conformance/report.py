"""The results as a table for the terminal and as a page for the docs."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from session_memory.conformance.driver import Driver
from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.result import CANNOT, DIFFERS, EQUAL, MISSING, RECORDED, Result
from session_memory.conformance.scenarios import NAMES, SCENARIOS

_TITLES = {driver.name: driver.title for driver in DRIVERS}
_INTRODUCTION = """\
# Conformance

This page shows how exactly Session Memory reads the logs of each agent. `session-memory conformance
--write docs/conformance.md` writes it:

```console
$ session-memory conformance                     # all agents, newest releases
$ session-memory conformance claude codex        # some of them
$ session-memory conformance pi --scenario fork  # one scenario
```

The command installs the agents from npm or PyPI and drives each one against a scripted model on
loopback, without a network. The model reports other token counts in every answer. Then our adapter
reads what the agent logged, and each request, token count, prompt, call, tool error, parent and
interruption is compared with the script.

The command needs Linux and npm. Some agents also need Python 3.12. No other Python library is
needed, so the extra `conformance` of the package is empty.
Each agent gets a home, a repository and a directory for temporary files of its own, and none of
your variables: no keys, no keychain, no settings. Where the machine allows it (`unshare`), the
agents run without a network; elsewhere their proxy settings point to a closed port. Telemetry and
update checks are off. Every run has a time limit, and what an agent leaves running is ended. The
command changes nothing outside of the scratch directory, with one exception: Codex 0.166 makes an
empty directory `/tmp/codex-daemon-UID`. The scratch directory is used again, so a second run
installs only new releases.

`--record DIR` keeps `AGENT-VERSION/SCENARIO/home` and `EXPECTED.json` with each request, its tokens
and its calls: samples for the author of an [adapter](adding-an-adapter.md).

| word | meaning |
|---|---|
| `equal` | everything is as in the script; a number names a known difference below |
| `differs` | something is not; the list below says what |
| `cannot` | the agent has no such thing |
| `recorded` | the scenario was played to its end, but there is no adapter for the agent yet |
| – | not played yet |
"""


def keep(scratch: Path, results: Iterable[Result]) -> list[Result]:
    """Remember results in the scratch directory, in a file for each agent. Returns the newest one
    of each agent and scenario, of this run and earlier ones."""
    directory = scratch / "results"
    directory.mkdir(parents=True, exist_ok=True)
    fresh = {(result.agent, result.scenario): result for result in results}
    kept = []
    for driver in DRIVERS:
        file = directory / f"{driver.name}.json"
        earlier = json.loads(file.read_text()) if file.exists() else []
        newest = {one["scenario"]: Result(**one) for one in earlier}
        newest |= {name: one for (agent, name), one in fresh.items() if agent == driver.name}
        if any(name and agent == driver.name for agent, name in fresh):
            # It is installed now.
            newest.pop("", None)
        # In the order of the scenarios; a release that could not be installed has none.
        ordered = [newest[name] for name in ("", *NAMES) if name in newest]
        if ordered:
            file.write_text(json.dumps([one.to_dict() for one in ordered], indent=1) + "\n")
        kept += ordered
    return kept


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """Agent × scenario: the head, then a row for each agent."""
    names = [one.name for one in SCENARIOS if any(one.name == r.scenario for r in results)]
    yield ("agent", "version", *names)
    for driver in DRIVERS:
        own = {result.scenario: result for result in results if result.agent == driver.name}
        if own:
            version = next(iter(own.values())).version
            states = (own[name].status if name in own else "–" for name in names)
            yield (driver.name, version, *states)


def details(results: Sequence[Result]) -> Iterator[str]:
    """One line for each thing that differs, and for each that an agent's log cannot tell."""
    for result in results:
        where = f"{result.agent} {result.scenario}".strip()
        if result.failed:
            yield from (f"{where}: {text}" for text in result.differences)
    for agent, text in _numbers(results):
        names = [one.scenario for one in results if one.agent == agent and text in one.known]
        yield f"{agent}, known: {text} ({', '.join(names)})"


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """The results as JSON."""
    counts = {
        status: sum(result.status == status for result in results)
        for status in (EQUAL, DIFFERS, CANNOT, RECORDED, MISSING)
    }
    return {"results": [result.to_dict() for result in results], "counts": counts}


def page(results: Sequence[Result]) -> str:
    """`docs/conformance.md`."""
    parts = [_INTRODUCTION, "## Scenarios\n", *_scenarios(), "\n## Results\n", *_table(results)]
    parts += ["\n## What differs\n", *_differences(results)]
    parts += ["\n## Known differences\n", *_known(results)]
    parts += ["\n## What agents cannot do\n", *_cannot(results), *_given_up()]
    if remarks := list(_remarks(results)):
        parts += ["\n## Releases that do not install\n", *remarks]
    return "\n".join(parts).rstrip() + "\n"


def _scenarios() -> Iterator[str]:
    yield "| scenario | what happens |\n|---|---|"
    yield from (f"| `{scenario.name}` | {scenario.title} |" for scenario in SCENARIOS)


def _of(results: Sequence[Result], driver: type[Driver]) -> dict[str, Result]:
    return {result.scenario: result for result in results if result.agent == driver.name}


def _table(results: Sequence[Result]) -> Iterator[str]:
    """Scenarios are rows, because there are more of them than agents."""
    agents = [driver for driver in DRIVERS if _of(results, driver)]
    numbers = _numbers(results)
    heads = [_head(driver, _of(results, driver)) for driver in agents]
    yield f"| | {' | '.join(heads)} |\n|---|{'---|' * len(agents)}"
    for scenario in SCENARIOS:
        states = [_state(_of(results, driver).get(scenario.name), numbers) for driver in agents]
        yield f"| `{scenario.name}` | {' | '.join(states)} |"


def _head(driver: type[Driver], own: dict[str, Result]) -> str:
    newest = max(own.values(), key=lambda result: result.date)
    return f"{driver.title} {newest.version} ({newest.date})"


def _numbers(results: Sequence[Result]) -> dict[tuple[str, str], int]:
    """A number for each known difference of an agent."""
    known = {(result.agent, text): None for result in results for text in result.known}
    return {one: number for number, one in enumerate(known, 1)}


def _state(result: Result | None, numbers: dict[tuple[str, str], int]) -> str:
    if result is None:
        return "–"
    notes = ", ".join(str(numbers[result.agent, text]) for text in result.known)
    state = f"**{result.status}**" if result.status == DIFFERS else result.status
    return f"{state} ({notes})" if notes else state


def _differences(results: Sequence[Result]) -> Iterator[str]:
    found = [
        f"- {_TITLES[result.agent]}, `{result.scenario}`: {_escaped(text)}"
        for result in results
        if result.status in (DIFFERS, MISSING)
        for text in result.differences
    ]
    yield from found or ["Nothing."]


def _known(results: Sequence[Result]) -> Iterator[str]:
    yield "What agents do not log, or do otherwise than the script. Each is declared in a driver.\n"
    for (agent, text), number in _numbers(results).items():
        yield f"{number}. {_TITLES[agent]}: {_escaped(text)}"


def _cannot(results: Sequence[Result]) -> Iterator[str]:
    found = [
        f"- {_TITLES[result.agent]}, `{result.scenario}`: {_escaped(result.text)}"
        for result in results
        if result.status == CANNOT
    ]
    yield from found or ["Nothing."]


def _given_up() -> Iterator[str]:
    for driver in DRIVERS:
        for status in driver.not_retried:
            yield f"- {driver.title}, `retry`: gives up after {status}, so the script leaves it out"


def _remarks(results: Sequence[Result]) -> Iterator[str]:
    for agent, remark in {result.agent: result.remark for result in results}.items():
        yield from (f"- {_TITLES[agent]}: {_escaped(part)}" for part in remark.split("; ") if part)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
