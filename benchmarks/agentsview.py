"""The nearest peer on the same corpus: agentsview, with a data directory of its own.

It is taken from the PATH, or installed from PyPI into the scratch directory. Its background
server, update check and telemetry are off, and it sees no directory but the one it is given.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from corpus import PROJECTS, Corpus, OneLog
from processes import Bench, Failed, Run
from searching import COMMON, RARE

MOST_SECONDS = 300
# It leaves these out unless asked.
EVERYTHING = ("--include-children", "--include-one-shot", "--include-automated")


@dataclass
class Peer:
    """What could be measured before the time was up, and why not more."""

    version: str = ""
    runs: dict[str, Run] = field(default_factory=dict)
    store: int = 0
    why_not: str = ""


def first_sync(bench: Bench, home: Path, say: Callable[[str], None]) -> dict[str, Run]:
    """Only that, over a home with logs of Claude Code and Codex. Empty when it cannot be had."""
    data = bench.new_path("agentsview-data")
    data.mkdir()
    kinds = {"claude": home / PROJECTS, "codex": home / ".codex" / "sessions"}
    say("agentsview: first sync of real logs")
    try:
        _configure(data, {kind: [place] for kind, place in kinds.items() if place.is_dir()})
        command: list[str | Path] = [_program(bench), "sync"]
        run = bench.program(command, env=_settings(data), seconds=MOST_SECONDS)
        _check_that_it_read(run)
    except Failed as error:
        say(f"agentsview is not measured: {error}")
        return {}
    return {"first sync": run}


def _check_that_it_read(run: Run) -> None:
    if not re.search(r"[1-9]\d* sessions synced", run.out):
        raise Failed(f"it read nothing: {run.out.strip()[-200:]}")


def _configure(data: Path, directories: Mapping[str, Sequence[Path]]) -> None:
    parts = []
    for kind, places in directories.items():
        listed = ", ".join(f'"{place}"' for place in places)
        parts.append(f"[agents.{kind}]\ndirs = [{listed}]\n")
    (data / "config.toml").write_text("".join(parts))


def _settings(data: Path) -> dict[str, str]:
    return {
        "AGENTSVIEW_DATA_DIR": str(data),
        "AGENTSVIEW_NO_DAEMON": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        "DO_NOT_TRACK": "1",
        "PYTHONPATH": "",
    }


def measure(bench: Bench, corpus: Corpus, log: OneLog, say: Callable[[str], None]) -> Peer:
    peer = Peer()
    try:
        program = _program(bench)
        peer.version = bench.program([program, "version"]).out.partition(" (")[0].strip()
        _measure(bench, program, corpus, log, peer, say)
    except Failed as error:
        peer.why_not = str(error)
    return peer


def _program(bench: Bench) -> Path:
    if found := shutil.which("agentsview"):
        return Path(found)
    venv = bench.scratch / "agentsview"
    if (venv / "bin" / "agentsview").is_file():
        return venv / "bin" / "agentsview"
    bench.program([sys.executable, "-m", "venv", venv])
    pip: list[str | Path] = [
        venv / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "agentsview",
    ]
    bench.program(pip, env={"PYTHONPATH": ""}, seconds=MOST_SECONDS)
    return venv / "bin" / "agentsview"


@contextmanager
def _served(bench: Bench, program: Path, env: dict[str, str]) -> Iterator[None]:
    """Its searches are answered by a server of its own, on loopback, which is not measured."""
    words = [str(program), "serve", "--no-sync", "--no-browser", "--port", "0"]
    server = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**bench.environment(), **env},
        cwd=bench.scratch,
    )
    try:
        assert server.stdout is not None
        if not any(b"listening at" in line for line in server.stdout):
            raise Failed("its server did not start")
        yield
    finally:
        server.terminate()
        server.communicate()


def _measure(
    bench: Bench,
    program: Path,
    corpus: Corpus,
    log: OneLog,
    peer: Peer,
    say: Callable[[str], None],
) -> None:
    data = bench.scratch / "agentsview-data"
    data.mkdir()
    roots = [corpus.home / PROJECTS]
    until = time.monotonic() + MOST_SECONDS
    env = _settings(data)

    def sync(name: str, *, wrapped: bool = False) -> None:
        say(f"agentsview: {name}")
        _configure(data, {"claude": roots})
        left = max(until - time.monotonic(), 1)
        command: list[str | Path] = [program, "sync"]
        peer.runs[name] = (
            bench.other(command, env, left)
            if wrapped
            else bench.program(command, env=env, seconds=left)
        )

    sync("first sync", wrapped=True)
    _check_that_it_read(peer.runs["first sync"])
    peer.store = sum(file.stat().st_size for file in data.glob("*.db*"))
    sync("nothing new")
    sync("nothing new")
    with _served(bench, program, env):
        for name, word in (("search, rare word", RARE), ("search, common word", COMMON[0])):
            say(f"agentsview: {name}")
            words: list[str | Path] = [program, "session", "search", word, *EVERYTHING]
            asked = {**env, "AGENTSVIEW_NO_DAEMON": ""}
            left = max(until - time.monotonic(), 1)
            runs = [bench.program(words, env=asked, seconds=left) for _ in range(3)]
            peer.runs[name] = min(runs, key=lambda run: run.wall)
    roots.append(log.home / PROJECTS)
    sync("the 160 MB log")
    log.append_a_line()
    sync("one line appended")
