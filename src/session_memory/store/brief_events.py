"""Events with only the columns that the analysis needs, read without validation.

Reading them takes a fraction of the time of reading full events.
"""

from collections.abc import Iterator

import msgspec

from session_memory.core.text import one_line
from session_memory.core.time import format_time
from session_memory.store.database import Database
from session_memory.store.name_table import NameTable
from session_memory.store.record_keys import event_uid

PAGE = 1000
_PAGE = f"""
    select e.seq, e.ts, e.kind, e.marks, e.role, e.tool, e.native_kind, e.model, e.branch,
        e.summary, e.source_id, e.place, e.length, e.record, e.block, e.call_id, e.path,
        e.is_sidechain, e.is_error, e.duration_ms, e.exit_code
    from events e
    where e.session_id = :session and e.seq > :after order by e.seq limit {PAGE}
"""
_SOURCE = "select uid from sources where id = :id"


class BriefEvent(msgspec.Struct, gc=False):
    """An event with the columns that the analysis needs, named as in `SessionEvent`.

    ``at`` is its time in milliseconds. ``source``, ``place``, ``length`` and ``block`` say where
    its text is in the stored logs.
    """

    seq: int
    at: int | None
    kind: str
    marks: tuple[str, ...]
    role: str | None
    tool: str | None
    native_kind: str | None
    model: str | None
    branch: str | None
    summary: str
    source: str
    place: int
    length: int
    record: bytes
    block: int
    call_id: str | None
    path: str | None
    is_sidechain: int
    is_error: int
    duration_ms: int | None
    exit_code: int | None

    @property
    def event_uid(self) -> str:
        return event_uid(self.record, self.block)

    @property
    def ts(self) -> str | None:
        return None if self.at is None else format_time(self.at)


def brief_events(db: Database, names: NameTable, session_id: int) -> Iterator[BriefEvent]:
    """Read the events that a session owns, in order and in pages. Inherited ones are left out."""
    words, where = names.words, {"session": session_id, "after": -1}
    marks_of: dict[int, tuple[str, ...]] = {}
    sources: dict[int, str] = {}
    while rows := db.all(_PAGE, where):
        for row in rows:
            (seq, at, kind, marks, role, tool, native_kind, model, branch, summary, source,
             *rest) = row  # fmt: skip
            if marks not in marks_of:
                marks_of[marks] = tuple(filter(None, (words[marks] or "").split(",")))
            if source not in sources:
                sources[source] = db.value(_SOURCE, {"id": source})
            yield BriefEvent(
                seq,
                at,
                words[kind] or "",
                marks_of[marks],
                words[role],
                words[tool],
                words[native_kind],
                words[model],
                branch,
                summary or one_line(row[16] or ""),
                sources[source],
                *rest,
            )
        if len(rows) < PAGE:
            return
        where["after"] = rows[-1][0]
