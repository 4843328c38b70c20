"""The option of commands that read with several processes."""

import click

jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Read in N worker processes when there is much to read; 1: in none. Default: one for"
    " each processor.",
)
