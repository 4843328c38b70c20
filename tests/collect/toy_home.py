"""A home in which Claude Code and the toy have worked, and every command that reads a store."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from toy import ToyLog, answer, called, prompt, resulted

from session_memory.cli import main
from session_memory.testing.claude import ClaudeHome

TOY, CLAUDE = "toy:one", "claude:main"
SECRET_WORD = "quixotic"

READING = (
    ("show", TOY),
    ("show", TOY, "--full"),
    ("sessions",),
    ("search", SECRET_WORD),
    ("commands", TOY),
    ("files", TOY),
    ("diff", TOY),
    ("timeline", TOY),
    ("stats",),
    ("cost",),
    ("problems",),
    ("sources",),
    ("analyze",),
    ("digest", TOY),
    ("patterns",),
    ("doctor",),
    ("reindex",),
    ("rebuild",),
    ("verify",),
    ("sync",),
    ("secrets",),
    ("status",),
    ("tree", TOY),
    ("retro",),
    ("how", "build"),
    ("fix", "failed"),
    ("similar", TOY),
    ("similar", "please fix the build"),
    ("budget",),
    ("train", "stats"),
    ("export", "--format", "markdown", TOY),
    ("export", "--format", "html", TOY),
    ("store", "fingerprint"),
    ("retain", "--dry-run"),
)


def write_home(place: Path) -> None:
    work = ClaudeHome(place)
    main_log = work.session("main")
    main_log.prompt("make it work")
    main_log.answer("done")
    work.write()
    log = ToyLog(place / ".toy" / "one.toy")
    log.add(prompt("please fix the build"))
    log.add(called("c1", "make test"))
    log.add(resulted("c1", "all is well"))
    log.add(answer(f"It is {SECRET_WORD}."))
    log.write()


def run(where: str, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", where])


def json_of(where: str, *words: str) -> Any:
    done = run(where, *words, "--json")
    assert done.exit_code in (0, 3), (words, done.output, done.exception)
    return json.loads(done.stdout)
