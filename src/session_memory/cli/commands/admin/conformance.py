"""Run real agents on a scripted model, and check their logs.

Installs the newest releases of the agents from npm or PyPI into a scratch directory. Each agent
runs without your settings and without a network. A server on this machine takes the place of the
model, and gives the answers of a script. If this machine cannot cut off the network for one
program, the agents get proxy settings that lead nowhere. Then the agents' logs are collected, and
their requests, tokens, prompts, calls, errors and parents are compared with the script.

Needs Linux, npm, about 3 GB of disk, and from some seconds to two minutes for each agent and
scenario. Installing an agent takes longer and needs the network.

The exit status is 1 if something differs, or if an agent cannot be installed. Authors of adapters
use --record: it keeps the logs of every scenario together with what must be read from them.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import Column, print_json, print_lines, remark, table
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("conformance", "all agents, all scenarios"),
        ("conformance claude pi --scenario basic --scenario fork", "some of both"),
        ("conformance codex --version codex=0.166.0", "another release than the newest"),
        ("conformance pi --record recordings", "keep logs and truth, for tests of an adapter"),
        ("conformance --write docs/conformance.md", "write the page"),
    ),
    json_shape='{"results": [{"agent", "version", "scenario", "status": "equal" | "differs" |'
    ' "cannot" | "recorded" | "missing", "differences", "known", "seconds", "date", "remark"}, …],'
    ' "counts"}; "cannot": the agent cannot do what the scenario needs; "recorded": there is no'
    ' adapter for the agent yet; "missing": the agent was not installed. "differences" are new,'
    ' "known" ones are declared in the code, with the reason. "remark": releases that could not be'
    " installed.",
)
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="NAME", help="Only this scenario; repeatable."
)
@click.option(
    "--version",
    "versions",
    multiple=True,
    metavar="AGENT=VERSION",
    help="Install this release of an agent instead of the newest; repeatable.",
)
@click.option(
    "--scratch",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The directory to install and run agents in. Later runs use it again.  [default: in the"
    " user's cache]",
)
@click.option(
    "--record",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep in this directory, for each agent and scenario, the logs"
    " (AGENT-VERSION/SCENARIO/home) and what must be read from them (EXPECTED.json beside home).",
)
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a Markdown page with the newest result of each agent and scenario.",
)
@click.pass_context
def command(
    ctx: click.Context,
    agents: tuple[str, ...],
    scenarios: tuple[str, ...],
    versions: tuple[str, ...],
    scratch: Path | None,
    record: Path | None,
    write: Path | None,
) -> None:
    from session_memory.conformance.kit import AGENTS, Order, carried_out
    from session_memory.conformance.report import details, keep, page, rows, summary
    from session_memory.conformance.scenarios import NAMES

    settings: Settings = ctx.obj
    directory = (scratch or _cache()).absolute()
    order = Order(
        str(directory),
        _known("agent", agents, AGENTS),
        _known("scenario", scenarios, NAMES),
        _versions(versions, agents, AGENTS),
        str(record.absolute()) if record else "",
    )
    directory.mkdir(parents=True, exist_ok=True)
    results = []
    for result in carried_out(order):
        results.append(result)
        text = f"{result.agent} {result.scenario}: {result.status} ({result.seconds} s)"
        remark(settings, text)
    kept = keep(directory, results)
    if write is not None:
        write.write_text(page(kept))
    if settings.as_json:
        print_json(summary(results))
    else:
        head, *body = rows(results)
        print_lines(table([Column(title) for title in head], body))
        print_lines(details(results))
    ctx.exit(FAILED if any(result.failed for result in results) else 0)


def _cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("session-memory") / "conformance"


def _known(kind: str, given: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [name for name in given if name not in names]:
        raise click.UsageError(f"unknown {kind} {unknown[0]}; there are {', '.join(names)}")
    return given or names


def _versions(
    given: tuple[str, ...], agents: tuple[str, ...], known: tuple[str, ...]
) -> dict[str, str]:
    versions = dict(text.partition("=")[::2] for text in given)
    _known("agent", tuple(versions), known)
    if other := [name for name in versions if name not in (agents or known)]:
        raise click.UsageError(f"--version names {other[0]}, but this runs {', '.join(agents)}")
    if missing := [name for name, version in versions.items() if not version]:
        raise click.UsageError(f"--version takes AGENT=VERSION, not {missing[0]}")
    return versions
