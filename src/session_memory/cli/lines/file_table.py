"""The table of files that sessions read and changed."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import Column, table
from session_memory.views.figures import count, local

if TYPE_CHECKING:
    from session_memory.views.files import FileList

COLUMNS = (
    Column("repo", flexible=True, middle=True, spare=2),
    Column("file", flexible=True, middle=True, least=40),
    Column("read", right=True),
    Column("edited", right=True),
    Column("written", right=True),
    Column("other", right=True, spare=5),
    Column("failed", right=True, spare=1),
    Column("sessions", right=True, spare=4),
    Column("last", spare=3),
)


def file_lines(listing: "FileList", limit: int | None, tz: tzinfo | None = None) -> Iterator[str]:
    """Return a table with a line for each file. A long path is cut in the middle."""
    rows = [
        [
            row.repo or "-",
            row.path,
            *map(count, (row.reads, row.edits, row.writes, row.other, row.failed, row.sessions)),
            local(row.last_at, tz=tz),
        ]
        for row in listing.files
    ]
    return table(COLUMNS, rows, limit) if rows else iter(())
