"""Write training data, and a README.md that describes it.

There are three kinds of examples: sft is a prompt with its answer, chat a whole session, and dpo a
failed attempt with one that succeeded. Each kind is a separate configuration of the data set: with
the datasets library of Hugging Face, load_dataset("DIR", "sft") loads one kind. Secrets are masked,
and names of projects are replaced. All examples of a repository are in the same split; if there is
only one repository, it is divided by sessions. Read the data before you share it.
"""

from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.jobs_option import jobs_option
from session_memory.cli.kit.output import print_json, print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.training_options import training_options
from session_memory.cli.lines.training import SHAPE, hint, lines
from session_memory.render.paths import short_path
from session_memory.views.figures import plural, size


@make_command(
    examples=(
        ("train export --out ./data", "everything, as JSONL"),
        ("train export --out ./dpo --kind dpo", "only preferences"),
        ("train export --out ./data --format parquet", "as Parquet; needs the extra lake"),
        ("train export --out ./data --split 80/10/10 --repo 'web*'", "some repositories"),
    ),
    json_shape=SHAPE,
)
@click.option(
    "--out", required=True, metavar="DIR", help="The directory to write to: a new or an empty one."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("jsonl", "parquet")),
    default="jsonl",
    show_default=True,
    help="The format of the files.",
)
@training_options
@jobs_option
@click.pass_obj
def command(
    settings: Settings,
    /,
    out: str,
    form: str,
    shares: tuple[int, int, int],
    jobs: int | None,
    **options: Any,
) -> None:
    from session_memory.cli.kit.training_options import select_examples
    from session_memory.learn.train.export import export

    target = Path(out).expanduser()
    with settings.opened() as store:
        sessions, examples = select_examples(store, **options)
        workers = jobs or settings.configuration().jobs
        report = export(
            store,
            sessions,
            examples,
            target,
            parquet=form == "parquet",
            shares=shares,
            jobs=workers,
        )
    if settings.as_json:
        print_json(report.to_dict())
        return
    print_lines(lines(report))
    rows = plural(report.total, "row")
    remark(settings, f"{rows} in {short_path(target)}, {size(report.bytes)}.")
    if message := hint(report):
        remark(settings, message)
