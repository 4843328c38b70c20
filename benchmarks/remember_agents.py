"""Real agents with Session Memory installed, driven against a scripted model without a network.

    python benchmarks/remember_agents.py                        all agents, newest releases
    python benchmarks/remember_agents.py --agents claude,codex  some of them
    python benchmarks/remember_agents.py --keep DIR             keeps agents, homes and requests
    python benchmarks/remember_agents.py --level project        in the settings of the repository
    python benchmarks/remember_agents.py --level plugin         as a plugin, where agents have them
    python benchmarks/remember_agents.py --options=--through-server    with options of `install`
    python benchmarks/remember_agents.py --json                 the table as JSON

The agents are installed from npm into a scratch directory. Then, without a network, each gets a
home and a repository of its own, a store with sessions in which an error was mended, and
``session-memory install``. In one session the model calls ``recall`` and ``fix``, in another it
runs commands that fail. The requests that reach the model are compared byte by byte. docs/agents
has the table.

It takes about five minutes and 2.5 GB. Nothing outside of the scratch directory is touched.
"""

import argparse
import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from budgets import table
from real_agents.agents import AGENTS, WithMemory
from real_agents.checks import CHECKS, Result, examine
from real_agents.running import PLUGIN, PROJECT, USER, Bed

from session_memory.conformance import isolation
from session_memory.conformance.npm import Npm
from session_memory.conformance.server import serving


def main() -> None:
    # Whoever stops the bench stops what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options = _options()
    if options.inside:
        _measure(options.keep, options)
    elif options.keep is None:
        with tempfile.TemporaryDirectory(prefix="remember-agents-") as scratch:
            _prepare(Path(scratch), options)
    else:
        options.keep.mkdir(parents=True, exist_ok=True)
        _prepare(options.keep.resolve(), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [agent.name for agent in AGENTS]
    parser.add_argument("--agents", default=",".join(names), help="names, separated by commas")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="the scratch directory, kept")
    levels = (USER, PROJECT, PLUGIN)
    parser.add_argument("--level", choices=levels, default=USER, help="where it is installed")
    parser.add_argument("--options", default="", help="further options of `install`")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.agents.split(",")) - set(names):
        parser.error(f"no such agent: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return options


def _prepare(scratch: Path, options: argparse.Namespace) -> None:
    """Install the agents, then go on without a network."""
    npm = Npm(scratch)
    for agent in _chosen(options):
        npm.install(agent)
    words = ["--keep", str(scratch), "--agents", options.agents, "--level", options.level]
    words.append(f"--options={options.options}")
    flags = ["--inside", *(["--json"] if options.json else [])]
    program = [sys.executable, __file__, *words, *flags]
    words, environment = isolation.words_without_network(program)
    sys.exit(subprocess.run(words, env=environment).returncode)


def _measure(scratch: Path, options: argparse.Namespace) -> None:
    npm, results = Npm(scratch), []
    with serving() as model:
        for agent in _chosen(options):
            found = npm.install(agent)
            result = Result(agent.name, found.version, remarks=[found.remark] * bool(found.remark))
            results.append(result)
            if found.program is not None:
                directory = scratch / "runs" / agent.name
                words = tuple(options.options.split())
                bed = Bed(
                    agent, found.program, npm.node, directory, model.url, options.level, words
                )
                examine(bed, model, result)
            if not options.json:
                _tell(result)
    if options.json:
        print(json.dumps([dataclasses.asdict(result) for result in results], indent=2))
    else:
        print("\n".join(_table(results)))
    sys.exit(any(result.failed or not result.passed for result in results))


def _chosen(options: argparse.Namespace) -> list[WithMemory]:
    names = options.agents.split(",")
    return [agent for agent in AGENTS if agent.name in names]


def _tell(result: Result) -> None:
    times = ", ".join(f"{name} {seconds} s" for name, seconds in result.seconds.items())
    print(f"{result.agent} {result.version}: {len(result.passed)} passed ({times})", flush=True)
    for name, reason in result.failed.items():
        print(f"  {name}: {reason}", flush=True)
    for remark in result.remarks:
        print(f"  ({remark})", flush=True)


def _table(results: list[Result]) -> list[str]:
    rows = [
        (result.agent, result.version, *(result.state(name) for name in CHECKS))
        for result in results
    ]
    return table([("agent", "version", *CHECKS), *rows])


if __name__ == "__main__":
    main()
