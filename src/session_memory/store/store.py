"""`Store`: one database with everything that was collected, and `open_store`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from session_memory.core.money import OwnPrice
from session_memory.core.time import now_ms
from session_memory.store.address import is_postgres, is_unknown_address
from session_memory.store.copying import copy_everything, refuse_unfinished
from session_memory.store.database import Database, connect
from session_memory.store.events import Events
from session_memory.store.figure_marks import FigureMarks
from session_memory.store.figures import Figures
from session_memory.store.fingerprint import fingerprint
from session_memory.store.given_names import GivenNames
from session_memory.store.index import WordIndex
from session_memory.store.migrations import migrate
from session_memory.store.name_table import NameTable
from session_memory.store.pieces import run_in_pieces
from session_memory.store.private_files import create_private, sweep_unfinished, whole_database
from session_memory.store.problems import Problems
from session_memory.store.raw import Raw, compressor, packed
from session_memory.store.response_ids import ResponseIds
from session_memory.store.retention import Retention
from session_memory.store.sessions import Sessions
from session_memory.store.sources import SourceRow, Sources
from session_memory.store.tasks import Tasks
from session_memory.store.turns import LoggedTurns
from session_memory.store.usage import UsageTable


@contextmanager
def copy_target(where: str | Path) -> Iterator["Store"]:
    """A store to copy into. A new file gets its name when the block ends, so it appears whole."""
    path = Path(where).expanduser()
    is_file = not (is_postgres(where) or is_unknown_address(where) or str(where) == ":memory:")
    if not is_file or path.exists() or path.is_symlink():
        with open_store(where, for_copy=True) as store:
            yield store
        return
    sweep_unfinished(path.parent)
    with whole_database(path) as partial, open_store(partial) as store:
        yield store


class Store:
    """One opened database. Each attribute is a table or group of tables with its operations."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.names = NameTable(db)
        self.raw = Raw(db)
        self.sources = Sources(db)
        self.figure_marks = FigureMarks(db)
        self.sessions = Sessions(db, self.figure_marks)
        self.index = WordIndex(db)
        self.events = Events(db, self.names, self.index)
        self.usage = UsageTable(db, self.names, self.figure_marks)
        self.response_ids = ResponseIds(db)
        self.turns = LoggedTurns(db)
        self.problems = Problems(db)
        self.retention = Retention(db, self.figure_marks)
        self.tasks = Tasks(db)
        self.figures = Figures(db)
        self.given_names = GivenNames(db, self.index)
        # A function that returns the user's own prices, called when something is priced. If it is
        # None, they come from the configuration file (`session_memory.pricing.own_prices`).
        self.own_prices: Callable[[], Mapping[str, OwnPrice]] | None = None
        # A function that returns the setting ``archive_dir``. If the function is None or returns
        # "", the archive is in a directory beside the store.
        self.archive_dir: Callable[[], str] | None = None
        # Copies of evicted sessions, see `session_memory.derive.archived`: ids with their times of
        # eviction, and the store in memory that has them.
        self.read_from_archive: list[tuple[set[tuple[int, int | None]], Store]] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction. After a rollback, cached numbers of new rows are dropped.

        After a commit, the search index may be merged in short transactions of its own.
        """
        is_outermost = not self.db.is_writing
        try:
            with (
                self.db.transaction(),
                self.index.collecting(),
                self.figure_marks.collecting(),
            ):
                yield
        except BaseException:
            self.names.forget()
            self.raw.dictionary.cache_clear()
            raise
        if is_outermost and self.index.must_merge:
            run_in_pieces(self.db.transaction, self.index.merged())

    def adopt_source(self, other: "Store", source_id: int) -> SourceRow:
        """Copy a source with its bytes from another store, unless it is here already."""
        row = other.sources.get(source_id)
        known = self.sources.by_uid(row.uid)
        if known is not None:
            return known
        row.id = 0
        # A negative version only says that a rebuild of the other store has not read the source
        # yet.
        row.adapter_version = max(row.adapter_version, 0)
        with self.transaction():
            self.sources.save(row)
            place = 0
            for piece in other.raw.pieces(source_id):
                packs = [packed(piece, place, compressor())]
                self.raw.replace_from(row.id, place, packs, False)
                place += len(piece)
        return row

    def fingerprint(self, *, damaged: list[int] | None = None) -> str:
        """A hash that is equal for stores with the same content, however it was collected."""
        return fingerprint(self, damaged=damaged)

    def backup(self, target: Path) -> int:
        """Write a consistent copy to a file that must not exist yet, and return its size."""
        if not self.db.backup(target):
            self._copy_to(target)
        return target.stat().st_size

    def _copy_to(self, target: Path) -> None:
        self.db.value("select 1")
        sweep_unfinished(target.parent)
        with whole_database(target) as partial:
            create_private(partial)
            with open_store(partial) as copy:
                copy_everything(self, copy)
                copy.compact()

    def compact(self) -> tuple[int, int]:
        """Make the store as small as it can be, and return its bytes before and after."""
        before = self.db.bytes_on_disk()
        self.db.vacuum()
        return before, self.db.bytes_on_disk()

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def open_store(
    where: str | Path, *, durability: str = "full", create: bool = True, for_copy: bool = False
) -> Store:
    """Open the store at a path or a ``postgresql://`` address, and create its tables if needed.

    The path ``:memory:`` gives a temporary store. With ``durability="full"`` every call that
    returned survives a power cut. With ``"normal"`` a power cut may undo the last calls.
    The target of an unfinished copy is refused, except with ``for_copy``.
    """
    db = connect(where, durability=durability, create=create)
    try:
        migrate(db, now_ms())
        if not for_copy:
            refuse_unfinished(db)
    except BaseException:
        db.close()
        raise
    return Store(db)
