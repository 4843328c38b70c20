"""What the parts of one sync share: the store, the configuration, the tasks, the result."""

import msgspec

from session_memory.adapters.base import Record, SourceRef, Unlisted
from session_memory.adapters.registry import agent_or_substitute
from session_memory.collect.batches import ReadTask
from session_memory.collect.sync_report import NewProblem, ReadProgress, SyncOutcome, SyncReport
from session_memory.config import Config
from session_memory.core.text import escaped
from session_memory.core.time import now_ms
from session_memory.derive.forgotten import Forgotten, Mask
from session_memory.store.known_sources import KnownSources
from session_memory.store.raw import Packer
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

# A damaged log can have a problem in every line. Only the first ones are listed.
PROBLEMS_LISTED = 100


class FailedSource(msgspec.Struct, frozen=True):
    """A source that cannot be read, and why."""

    flavor: str
    ref: SourceRef | Unlisted
    reason: str


class RunContext:
    """The state of one sync. ``known``: the rows of this host's stored sources, by path."""

    def __init__(
        self,
        store: Store,
        config: Config,
        host: str,
        progress: ReadProgress,
        known: KnownSources,
    ) -> None:
        self.store = store
        self.config = config
        self.host = host
        self.progress = progress
        self.known = known
        self.now = now_ms()
        self.outcome = SyncOutcome(report=SyncReport())
        self.tasks: list[ReadTask] = []
        self.failures: list[FailedSource] = []
        self.vanished: list[SourceRow] = []
        self.forgotten = Forgotten(store)
        self.is_first_load = store.sources.is_empty()

    def fail(
        self, flavor: str, ref: SourceRef | Unlisted, reason: str, *, counted: bool = True
    ) -> None:
        """Note that a source cannot be read. ``counted``: it counts in the report."""
        self.outcome.report.failed += counted
        self.failures.append(FailedSource(flavor, ref, reason))

    def new_row(self, flavor: str, ref: SourceRef, generation: int) -> SourceRow:
        """Make a new row for a source.

        Its generation is ``generation``, or the next number if an import or a rewritten file has
        taken that one.
        """
        path = escaped(str(ref.path))
        if not self.is_first_load:
            generation = self.store.sources.free_generation(self.host, path, generation)
        return SourceRow(
            host=self.host,
            flavor=flavor,
            role=ref.role,
            path=path,
            home_path=escaped(ref.home_path),
            session=escaped(ref.session),
            agent=escaped(ref.agent),
            generation=generation,
            adapter_version=agent_or_substitute(flavor).version,
            discovered_at=self.now,
        )

    def is_forgotten(self, flavor: str, ref: SourceRef, path: str, row: SourceRow | None) -> bool:
        """Whether a source must not be read because the user forgot its session.

        The session decides only for a new source: a stored source may hold other sessions, too.
        """
        if self.forgotten.holds_source(self.host, path):
            return True
        return row is None and self.forgotten.holds_session(flavor, ref.session)

    def packer(self, flavor: str) -> Packer:
        return self.store.raw.packer(flavor)

    def forgotten_masks(self, flavor: str, records: list[Record]) -> list[Mask]:
        return self.forgotten.masks(flavor, records) if self.forgotten else []

    def evicted_up_to(self, row: SourceRow, kept: int) -> int:
        return self.store.retention.evicted_up_to(row.id, kept)

    def is_evicted(self, row: SourceRow) -> bool:
        return self.store.retention.evicted_source(row.id) is not None

    def add_problems(self, row: SourceRow, problems: list[tuple[int, int, str, str]]) -> None:
        """Store problems, each ``(offset, length, reason, detail)``. List the first new ones."""
        new = self.store.problems.add(row.id, problems, self.now)
        listed = self.outcome.problems_found
        first = new[: max(PROBLEMS_LISTED - len(listed), 0)]
        listed += [NewProblem(row.path, place, why, detail) for place, _, why, detail in first]
