"""Copy a SQLite store to a new file while others go on writing."""

from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from session_memory.store.private_files import create_private, sweep_unfinished, whole_database
from session_memory.store.sqlite_errors import translated

if TYPE_CHECKING:
    from session_memory.store.sqlite import Sqlite


def write_copy(db: "Sqlite", target: Path) -> None:
    """Write a consistent copy. The target must not exist. It appears when the copy is complete."""
    connection = db.connection
    try:
        sweep_unfinished(target.parent)
        with whole_database(target) as partial:
            create_private(partial)
            copy = apsw.Connection(str(partial))
            # Within one snapshot. Otherwise every commit of another process makes SQLite begin
            # the copy again, and beside a live session it would never end.
            with db.snapshot(), copy.backup("main", connection, "main") as work:
                db.value("select count(*) from sqlite_master")
                while not work.done:
                    work.step(4096)
            copy.pragma("journal_mode", "delete")
            copy.close()
    except apsw.Error as error:
        raise translated(error, target) from error
