"""Query the Parquet files in SQL.

Tables: sessions, events and usage, each with the columns flavor and month. DuckDB runs the query:
one select, with limited memory, without network and without access to other files. The answer shows
at most 1,000 rows; --csv and --json print all. lake export brings the files up to date. Needs
DuckDB and PyArrow, which the extra "lake" of session-memory installs.
"""

import csv
import sys
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import Column, print_lines, remark, table, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.core.text import visible
from session_memory.render.json_text import to_json
from session_memory.render.paths import pasteable

SHOWN = 1000
_FORMULA = ("=", "+", "-", "@")


@make_command(
    examples=(
        (
            'lake sql "select model, sum(output_tokens) from usage group by 1 order by 2 desc"',
            "tokens by model",
        ),
        ('lake sql "select repo, count(*) from sessions group by all" --csv', "for a spreadsheet"),
        ('lake sql "describe select * from events"', "the columns of a table"),
    ),
    json_shape='{"columns": [NAME, …], "rows": [[VALUE, …], …]}; times are ISO-8601 texts.',
)
@click.argument("question", metavar="SELECT")
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print CSV with a header, for a spreadsheet. Invisible characters are escaped, and a quote"
    " is put before formulas. --json has the values unchanged.",
)
@click.option(
    "--lake",
    "directory",
    metavar="DIR",
    help="The directory of the Parquet files, if lake export --to wrote them.",
)
@click.pass_obj
def command(settings: Settings, question: str, as_csv: bool, directory: str | None) -> None:
    from session_memory.core.errors import LakeError
    from session_memory.retain import lake
    from session_memory.retain.lake_query import ask

    if directory is None:
        config = settings.configuration()
        with settings.opened(config) as store:
            place = lake.place(store, config)
    else:
        place = Path(directory).expanduser()
    if place is None or not lake.is_there(place):
        to = "" if directory is None else f" --to {pasteable(directory)}"
        hint = f"Make it with: session-memory lake export{to}"
        raise LakeError(f"there is no lake at {place}", hint)
    with ask(place, question) as answer:
        rows = ([_plain(value) for value in row] for row in answer.rows)
        if settings.as_json:
            _print_json(answer.columns, rows)
        elif as_csv:
            writer = csv.writer(sys.stdout)
            writer.writerow(map(_cell, answer.columns))
            writer.writerows(map(_cell, row) for row in rows)
        else:
            _print_table(settings, answer.columns, rows)


def _plain(value: Any) -> Any:
    """Convert a value of DuckDB to one that JSON can represent."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _cell(value: Any) -> Any:
    """Convert a value to one that is safe in a spreadsheet.

    Text from logs may be hostile. Invisible characters are escaped, so that a terminal does not
    obey them. A quote before a formula keeps a spreadsheet from computing it.
    """
    if not isinstance(value, str):
        return value if isinstance(value, int | float | None) else _cell(to_json(value))
    lines = (visible(line) for line in value.replace("\r\n", "\n").split("\n"))
    text = "\n".join(lines)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _print_json(columns: list[str], rows: Iterable[list[Any]]) -> None:
    """Print row by row, because an answer can be larger than memory."""
    click.echo(f'{{"columns": {to_json(columns)}, "rows": [', nl=False)
    for number, row in enumerate(rows):
        click.echo(f"{', ' if number else ''}{to_json(row)}", nl=False)
    click.echo("]}")


def _print_table(settings: Settings, columns: list[str], rows: Iterable[list[Any]]) -> None:
    shown = list(islice(rows, SHOWN + 1))
    numbers = [
        bool(shown) and all(isinstance(row[place], int | float | None) for row in shown)
        for place in range(len(columns))
    ]
    titles = [
        Column(name, right=is_number, flexible=not is_number)
        for name, is_number in zip(columns, numbers, strict=True)
    ]
    cells = [["" if value is None else str(value) for value in row] for row in shown[:SHOWN]]
    print_lines(table(titles, cells, terminal_width()))
    if len(shown) > SHOWN:
        remark(settings, f"Only the first {SHOWN:,} rows; all of them with --csv or --json")
