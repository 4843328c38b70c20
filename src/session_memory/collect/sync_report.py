"""What a sync reports: figures, changed sessions, new problems, and progress while it runs."""

import msgspec

from session_memory.collect.discover import Root


class SyncReport(msgspec.Struct, kw_only=True):
    """The figures of a sync, as ``sync --json`` prints them.

    ``discovered`` = ``ingested`` + ``unchanged`` + ``failed``, all counted in sources. ``sessions``
    counts the sessions that were written to, ``events`` the new events, and ``problems`` all
    problems in the store. ``problems`` is 0 if only some paths were looked at.
    """

    discovered: int = 0
    ingested: int = 0
    unchanged: int = 0
    failed: int = 0
    problems: int = 0
    sessions: int = 0
    events: int = 0
    bytes: int = 0
    seconds: float = 0.0


class NewProblem(msgspec.Struct, frozen=True):
    """A problem that this sync found first: its file, its byte offset, and the reason."""

    path: str
    place: int
    reason: str
    detail: str


class SyncOutcome(msgspec.Struct, kw_only=True):
    """The report of a sync, and what else is shown to people.

    ``touched`` holds the sessions that were written to, each with the number of events it had
    before. ``problems_found`` holds the first new problems; ``new_problems`` counts all of them.
    ``broken_adapters`` names the adapters that could not be used or failed, with the reason.
    """

    report: SyncReport
    touched: dict[str, int] = {}
    problems_found: list[NewProblem] = []
    new_problems: int = 0
    vanished: int = 0
    roots: list[Root] = []
    by_flavor: dict[str, int] = {}
    broken_adapters: dict[str, str] = {}


class ReadProgress:
    """Gets calls while sources are read. This class does nothing; a progress bar overrides it."""

    def begin(self, files: int, size: int) -> None: ...

    def advance(self, size: int) -> None: ...

    def end(self) -> None: ...
