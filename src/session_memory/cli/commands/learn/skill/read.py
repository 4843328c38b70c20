"""Print the entries of a session's skill log.

A line that is not an entry of the session is reported with its byte offset, and the exit status is
3. A session without a log has no entries.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.skill_log_directory import directory_option, opened_log
from session_memory.cli.lines.json_outline import outline
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("skill read nightly-7", "the calls of a session"),
        ("skill read nightly-7 --json", "the entries as they were written"),
    ),
    json_shape='{"session_id", "entries": [ENTRY, …], "problems": [{"offset", "length",'
    ' "reason"}, …]}',
)
@click.argument("session", metavar="SESSION")
@directory_option
@click.pass_context
def command(ctx: click.Context, session: str, directory: Path | None) -> None:
    settings: Settings = ctx.obj
    log = opened_log(settings, directory)
    found = log.read(session)
    if settings.as_json:
        entries = [entry.to_dict() for entry in found]
        problems = [problem._asdict() for problem in found.problems]
        print_json({"session_id": session, "entries": entries, "problems": problems})
    else:
        print_lines(line for entry in found for line in (*outline(entry.to_dict()), ""))
        for problem in found.problems:
            click.echo(safe(f"byte {problem.offset}: {problem.reason}"), err=True)
        remark(settings, f"{plural(len(found), 'call')} in {short_path(log.path_of(session))}")
    if found.problems:
        ctx.exit(PROBLEMS)
