"""List the files that lessons apply wrote to.

A file is listed until lessons revert removes the lessons from it, even if somebody deleted it.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.lesson_options import opened_lessons, print_learned
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.views.figures import local


@make_command(
    examples=(
        ("lessons live", "which file has which lessons, and whether it was changed"),
        ("lessons live --json", "for a script"),
    ),
    json_shape='{"live": [{"target", "repo", "lessons": [{"id", "version"}, …],'
    ' "applied_at", "who", "state"}, …]}; "state" is "as written"; "changed": the file was'
    ' edited since; "gone": the file or its lessons were deleted.',
)
@click.pass_obj
def command(settings: Settings) -> None:
    import msgspec

    with opened_lessons(settings) as opened:
        live = opened.applied.live()
    if settings.as_json:
        print_learned({"live": msgspec.to_builtins(live)})
        return
    columns = [Column("file"), Column("repo"), Column("since"), Column("by"), Column("state")]
    columns += [Column("lessons", flexible=True)]
    rows: list[list[str | Cell]] = [
        [
            short_path(one.target),
            one.repo,
            local(one.applied_at),
            one.who,
            Cell(one.state, {} if one.state == "as written" else {"fg": "yellow"}),
            ", ".join(f"{held.id} v{held.version}" for held in one.lessons),
        ]
        for one in live
    ]
    if rows:
        print_lines(table(columns, rows, terminal_width()))
    else:
        remark(settings, "No lesson is in any file. Next: session-memory lessons propose")
