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

This page shows how exactly Session Memory reads the logs of each agent. To check new releases of
the agents, run the command yourself; with `--write docs/conformance.md` it writes this page:

```console
$ session-memory conformance                     # all agents, newest releases
$ session-memory conformance claude codex        # some of them
$ session-memory conformance pi --scenario fork  # one scenario
```

The command does this with each agent:

1. It installs the newest release of the agent from npm or PyPI. “Problems with installing” names
   the releases that could not be installed.
2. For each scenario, it runs the agent with a scripted model: a server on this machine that answers
   as a script says. Each answer reports different token counts, so that no two can be confused.
3. Session Memory collects what the agent logged.
4. The command compares each request, token count, prompt, call, tool error, parent and interruption
   with the script.

The command needs Linux and npm. Some agents also need Python 3.12. No other Python library is
needed, so the extra `conformance` of the package is empty.

The agents are kept away from your data and your accounts:

- Each agent gets a home, a repository and a directory for temporary files of its own, and none of
  your variables: no keys, no keychain, no settings. Telemetry and update checks are off.
- If the machine allows it (`unshare`), the agents run without a network. Otherwise their proxy
  settings point to a closed port.
- Every run has a time limit. Processes that an agent leaves behind are killed.
- The command changes nothing outside of the scratch directory and what `--record` and `--write`
  name, with one exception: Codex makes an empty directory `/tmp/codex-daemon-UID`. The scratch
  directory is used again, so a second run installs only new releases.

`--record DIR` keeps the logs in `AGENT-VERSION/SCENARIO/home`, and beside them `EXPECTED.json` with
each request, its tokens and its calls. These are samples for the author of an
[adapter](adding-an-adapter.md).

The table of results has these words:

| word | meaning |
|---|---|
| `equal` | what was read is as in the script; a number in brackets names a known difference |
| `differs` | something is not as in the script; “What differs” lists it |
| `cannot` | the agent cannot do what the scenario needs; “What agents cannot do” has the reason |
| `recorded` | the scenario was played to its end, but there is no adapter for the agent yet |
| – | not played yet |
"""
_CANNOT = """\
Each line names agents, the [scenarios](#scenarios) that were not played with them, and the reason.
"""
_COMPARED = """\
Each line names an agent, what was compared, and why it differs: the agent does not log something,
or it does something else than the script. A driver in the code declares each of these.

| what is compared | meaning |
|---|---|
| `script` | the agent asked for every answer of the script, and for no more |
| `requests`, `tokens`, `model` | the requests of the conversation, their token counts and models |
| `reasoning` | how many tokens of an answer are reasoning |
| `summary requests`, `summary tokens` | requests for a summary of the history, and their tokens |
| `aux requests` | requests that the agent makes for itself, such as one for a title |
| `side requests` | summary and aux requests together, if the agent logs tokens by turn |
| `extra` | usage in the log that belongs to no request |
| `tool errors` | the calls that failed |
| `prompts`, `interrupt` | the prompts of the user, and that the user stopped the agent |
| `sessions` | the number of sessions, forks and subagents |
"""


def keep(scratch: Path, results: Iterable[Result]) -> list[Result]:
    """Store results in the scratch directory, in a file for each agent.

    Return the newest result of each agent and scenario, of this run or an earlier one.
    """
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
            # The agent is installed now, so the result that says it is missing is outdated.
            newest.pop("", None)
        # Results are in the order of the scenarios. If a release could not be installed, its result
        # has no scenario.
        ordered = [newest[name] for name in ("", *NAMES) if name in newest]
        if ordered:
            file.write_text(json.dumps([one.to_dict() for one in ordered], indent=1) + "\n")
        kept += ordered
    return kept


def rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    """Yield the table of results: a head with the scenarios, then a row for each agent."""
    names = [one.name for one in SCENARIOS if any(one.name == r.scenario for r in results)]
    yield ("agent", "version", *names)
    for driver in DRIVERS:
        own = {result.scenario: result for result in results if result.agent == driver.name}
        if own:
            version = next(iter(own.values())).version
            states = (own[name].status if name in own else "–" for name in names)
            yield (driver.name, version, *states)


def details(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each difference, and one for each known difference."""
    for result in results:
        where = f"{result.agent} {result.scenario}".strip()
        if result.failed:
            yield from (f"{where}: {text}" for text in result.differences)
    for agent, text in _numbers(results):
        names = [one.scenario for one in results if one.agent == agent and text in one.known]
        yield f"{agent}, known: {text} ({', '.join(names)})"


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Return the results as JSON, with the number of results of each status."""
    counts = {
        status: sum(result.status == status for result in results)
        for status in (EQUAL, DIFFERS, CANNOT, RECORDED, MISSING)
    }
    return {"results": [result.to_dict() for result in results], "counts": counts}


def page(results: Sequence[Result]) -> str:
    """Return the text of `docs/conformance.md`."""
    parts = [_INTRODUCTION, "## Scenarios\n", *_scenarios(), "\n## Results\n", *_agents(results)]
    parts += ["", *_table(results)]
    parts += ["\n## What differs\n", *_differences(results)]
    parts += ["\n## Known differences\n", *_known(results)]
    parts += ["\n## What agents cannot do\n", _CANNOT, *_cannot(results), *_given_up()]
    if remarks := list(_remarks(results)):
        parts += ["\n## Problems with installing\n", *remarks]
    return "\n".join(parts).rstrip() + "\n"


def _scenarios() -> Iterator[str]:
    yield "| scenario | what happens |\n|---|---|"
    yield from (f"| `{scenario.name}` | {scenario.title} |" for scenario in SCENARIOS)


def _of(results: Sequence[Result], driver: type[Driver]) -> dict[str, Result]:
    return {result.scenario: result for result in results if result.agent == driver.name}


def _table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the table of results. Scenarios are rows: there are more of them than agents."""
    agents = [driver for driver in DRIVERS if _of(results, driver)]
    numbers = _numbers(results)
    yield f"| | {' | '.join(driver.title for driver in agents)} |\n|---|{'---|' * len(agents)}"
    for scenario in SCENARIOS:
        states = [_state(_of(results, driver).get(scenario.name), numbers) for driver in agents]
        yield f"| `{scenario.name}` | {' | '.join(states)} |"


def _agents(results: Sequence[Result]) -> Iterator[str]:
    """Yield a table of the agents: which releases were played, when, and how it went."""
    statuses = (EQUAL, DIFFERS, CANNOT)
    yield f"| agent | release | played on | {' | '.join(statuses)} |\n|---|---|---|---|---|---|"
    for driver in DRIVERS:
        if own := list(_of(results, driver).values()):
            releases, dates = ({one.version for one in own}, {one.date for one in own})
            cells = [driver.title, ", ".join(sorted(releases)), ", ".join(sorted(dates))]
            cells += [str(sum(one.status == status for one in own)) for status in statuses]
            yield f"| {' | '.join(cells)} |"


def _numbers(results: Sequence[Result]) -> dict[tuple[str, str], int]:
    """Number the known differences of all agents; the table refers to these numbers."""
    known = {(result.agent, text): None for result in results for text in result.known}
    return {one: number for number, one in enumerate(known, 1)}


def _state(result: Result | None, numbers: dict[tuple[str, str], int]) -> str:
    if result is None:
        return "–"
    notes = ", ".join(map(str, sorted(numbers[result.agent, text] for text in result.known)))
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
    yield _COMPARED
    for (agent, text), number in _numbers(results).items():
        yield f"{number}. {_TITLES[agent]}: {_escaped(text)}"
    if moods := list(_moods()):
        yield from ("\nThese differences show in some runs only:\n", *moods)


def _moods() -> Iterator[str]:
    for driver in DRIVERS:
        for name, declared in driver.sometimes.items():
            for key, reason in declared.items():
                yield f"- {driver.title}, `{name}`: {key}: {_escaped(reason)}"


def _cannot(results: Sequence[Result]) -> Iterator[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.status == CANNOT:
            found.setdefault((result.agent, result.text), []).append(f"`{result.scenario}`")
    # Agents with the same reason for the same scenarios share a line.
    lines: dict[tuple[str, str], list[str]] = {}
    for (agent, text), names in found.items():
        lines.setdefault((", ".join(names), text), []).append(_TITLES[agent])
    for (scenarios, text), agents in lines.items():
        yield f"- {', '.join(agents)}, {scenarios}: {_escaped(text)}"
    if not found:
        yield "Nothing."


def _given_up() -> Iterator[str]:
    for driver in DRIVERS:
        for status in driver.not_retried:
            yield f"- {driver.title}, `retry`: gives up after {status}, so the script leaves it out"


def _remarks(results: Sequence[Result]) -> Iterator[str]:
    for agent, remark in {result.agent: result.remark for result in results}.items():
        yield from (f"- {_TITLES[agent]}: {_escaped(part)}" for part in remark.split("; ") if part)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
