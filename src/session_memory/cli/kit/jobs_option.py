"""The option ``--jobs`` of commands that read with several processes."""

import click

jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of worker processes if there is much to read. 1 uses no worker process."
    "  [default: the setting jobs, or one for each processor]",
)
