"""Show what an export of training data would contain.

It also says how many examples are left out, and why. Nothing is written.
"""

from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.jobs_option import jobs_option
from session_memory.cli.kit.output import print_json, print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.training_options import training_options
from session_memory.cli.lines.training import SHAPE, hint, lines


@make_command(
    examples=(
        ("train stats", "of all sessions"),
        ("train stats --kind dpo --json", "only preferences, for a script"),
    ),
    json_shape=SHAPE,
)
@training_options
@jobs_option
@click.pass_obj
def command(
    settings: Settings, /, shares: tuple[int, int, int], jobs: int | None, **options: Any
) -> None:
    from session_memory.cli.kit.training_options import select_examples
    from session_memory.learn.train.export import preview

    with settings.opened() as store:
        sessions, examples = select_examples(store, **options)
        workers = jobs or settings.configuration().jobs
        report = preview(store, sessions, examples, shares=shares, jobs=workers)
    if settings.as_json:
        print_json(report.to_dict())
        return
    print_lines(lines(report))
    remark(settings, hint(report) or "Next: session-memory train export --out DIR")
