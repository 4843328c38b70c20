"""Read sources with worker processes.

Chunks come in the order of the tasks, so the store is the same with any number of workers.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

from session_memory.collect.batches import BYTES_PER_WORKER, Batches, Chunk, ReadTask
from session_memory.collect.database_copies import dump_of
from session_memory.collect.read_worker import (
    TARGET,
    ReadSetting,
    SentChunk,
    SentPack,
    continued,
)
from session_memory.collect.reading import SourceReading
from session_memory.collect.row_sources import rows_of
from session_memory.collect.run_context import RunContext
from session_memory.core.roles import LOG, SPILL, TIMELINE
from session_memory.store.raw import Dictionary, Packed
from session_memory.workers.pool import (
    OrderReturned,
    Pool,
    WorkerDied,
    can_start,
    default_jobs,
)

# If no worker has time for a smaller source, this process reads it.
SMALL_SOURCE = 1024 * 1024
MOST_JOBS = 64


class ParallelReading:
    """Reads the sources of a sync: in workers if that pays and is possible, else in this
    process."""

    def __init__(self, run: RunContext, reading: SourceReading, jobs: int | None) -> None:
        self._run = run
        self._reading = reading
        self._jobs = min(jobs or run.config.jobs or default_jobs(), MOST_JOBS)
        self._pool: Pool | None = None
        self._dictionaries: dict[int | bytes, Dictionary] = {}

    def started(self) -> AbstractContextManager[object]:
        """Start workers for the tasks that are known now, if there is enough to read."""
        if self._jobs < 2 or self._run.forgotten or not can_start():
            return nullcontext()
        tasks = enumerate(self._run.tasks)
        orders = {number: task for number, task in tasks if _may_need_no_store(task)}
        size = sum(_unread(task) for task in orders.values())
        if size < BYTES_PER_WORKER:
            return nullcontext()
        # Evicted sources are brought back first, which needs the store.
        orders = {
            number: task
            for number, task in orders.items()
            if not (task.row.id and self._run.is_evicted(task.row))
        }
        setting = ReadSetting(
            self._run.config,
            self._run.is_first_load,
            self._newest_dictionaries(orders),
            self._run.store.index.kind,
        )
        jobs = min(self._jobs, size // BYTES_PER_WORKER) if BYTES_PER_WORKER else self._jobs
        self._pool = Pool(TARGET, setting, orders, jobs, continued)
        return self._pool

    def _newest_dictionaries(self, orders: dict[int, ReadTask]) -> dict[str, tuple[int, bytes]]:
        newest = {}
        for flavor in {task.flavor for task in orders.values()}:
            known = self._run.store.raw.newest_dictionary(flavor)
            if known is not None and known.id is not None:
                newest[flavor] = known.id, known.body
                self._dictionaries[known.id] = known
        return newest

    def chunks(self, number: int, task: ReadTask, batches: Batches) -> Iterator[Chunk]:
        """Yield what is new in the source of a task. ``number``: its place among the tasks."""
        sent = None
        if self._pool is not None:
            sent = self._pool.take(number, wait=_unread(task) > SMALL_SOURCE)
        if sent is None:
            yield from self._reading.chunks(task)
            return
        has_some = False
        try:
            for one in sent:
                if one.left_out:
                    task.left_out = True
                    return
                has_some = True
                yield self._chunk(task, one)
        except OrderReturned:
            if has_some:
                # Write the chunks that arrived first: the rest is read from the stored cursor on.
                batches.flush()
                task.is_new = False
            yield from self._reading.chunks(task)
        except WorkerDied as death:
            raise OSError(str(death)) from death

    def _chunk(self, task: ReadTask, sent: SentChunk) -> Chunk:
        task.stat = sent.stat
        if task.row.redacted_from is None:
            task.row.redacted_from = sent.redacted_from
        for digest, body in sent.dictionaries.items():
            self._dictionaries.setdefault(digest, Dictionary(body))
        self._run.progress.advance(sent.read)
        packs = [self._pack(one) for one in sent.packs]
        cursor, kept, tail = sent.cursor, sent.kept, sent.tail_hash
        chunk = Chunk(task, sent.start, packs, sent.records, cursor, kept, tail, sent.is_last)
        chunk.settled = sent.settled
        return chunk

    def _pack(self, sent: SentPack) -> Packed:
        known = None if sent.dictionary is None else self._dictionaries[sent.dictionary]
        return Packed(sent.start, sent.length, sent.hash, known, sent.body)


def _may_need_no_store(task: ReadTask) -> bool:
    """Whether a worker may be able to read a source without the store.

    This process reads documents, which are small, and databases, whose lines are compared with the
    stored ones.
    """
    if task.ref.role not in (LOG, TIMELINE, SPILL) or task.ref.stamp is not None:
        return False
    return dump_of(task.flavor) is None and rows_of(task.flavor, task.ref) is None


def _unread(task: ReadTask) -> int:
    return max(task.stat.size - task.row.read_to, 0)
