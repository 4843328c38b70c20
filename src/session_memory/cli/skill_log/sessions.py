"""``session-memory skill-log sessions``."""

from pathlib import Path

import click

from session_memory.cli.kit.command import command as declared
from session_memory.cli.kit.output import print_json, print_lines
from session_memory.cli.kit.settings import Settings
from session_memory.cli.skill_log.directory import directory_option, opened_log


@declared(
    "sessions",
    examples=(("skill-log sessions", "the ids, one on each line"),),
    json_shape='{"sessions": [ID, …]}',
)
@directory_option
@click.pass_obj
def command(settings: Settings, directory: Path | None) -> None:
    """List the sessions that have a log."""
    found = opened_log(settings, directory).sessions()
    print_json({"sessions": found}) if settings.as_json else print_lines(found)
