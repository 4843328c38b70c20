"""List the sessions that have a skill log."""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.skill_log_directory import directory_option, opened_log


@make_command(
    examples=(
        ("skill sessions", "the ids, one on each line"),
        ("skill sessions --dir ./logs --json", "of another directory, for a script"),
    ),
    json_shape='{"sessions": [ID, …]}',
)
@directory_option
@click.pass_obj
def command(settings: Settings, directory: Path | None) -> None:
    found = opened_log(settings, directory).sessions()
    if settings.as_json:
        print_json({"sessions": found})
        return
    print_lines(found)
    if not found:
        remark(settings, "No skill logs. Write one with: session-memory skill append")
