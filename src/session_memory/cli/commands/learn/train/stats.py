"""Show what an export would hold, and why the rest is left out. Writes nothing."""

from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.training_options import choosing
from session_memory.cli.lines.training import SHAPE, hint, lines


@make_command(
    examples=(
        ("train stats", "everything there is"),
        ("train stats --kind dpo --json", "preferences alone, for a script"),
    ),
    json_shape=SHAPE,
)
@choosing
@click.pass_obj
def command(settings: Settings, /, shares: tuple[int, int, int], **asked: Any) -> None:
    from session_memory.cli.kit.training_options import chosen
    from session_memory.learn.train.export import preview

    with settings.opened() as store:
        sessions, wanted = chosen(store, **asked)
        report = preview(store, sessions, wanted, shares=shares)
    if settings.as_json:
        print_json(report.to_dict())
        return
    print_lines(lines(report))
    remark(settings, hint(report) or "Next: session-memory train export --out DIR")
