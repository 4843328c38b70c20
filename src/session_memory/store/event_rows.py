"""Rows of the tables ``events`` and ``copies``, before they are stored."""

import msgspec

from session_memory.core.text import escaped
from session_memory.store.word_query import PreparedText


class EventRow(msgspec.Struct, gc=False):
    """An event to be stored. Its names (kind, tool, model, …) are texts here, numbers in the table.

    An empty ``summary`` means that the summary is the ``path``. ``words`` is the text for the
    search index. If a worker process has prepared it already, ``prepared`` has the result and
    ``words`` is empty. Neither ``words`` nor ``prepared`` is a column.
    """

    seq: int
    ts: int | None
    kind: str
    marks: str
    role: str
    tool: str | None
    native_kind: str
    model: str | None
    parent_seq: int | None
    branch: str | None
    summary: str
    source_id: int
    place: int
    length: int
    record: bytes
    block: int
    call_id: str | None
    response_id: str | None
    path: str | None
    tokens: int
    is_sidechain: bool
    is_error: bool
    duration_ms: int | None
    exit_code: int | None
    words: str = ""
    prepared: PreparedText | None = None

    def escape(self) -> None:
        """Replace characters that a database cannot store."""
        self.summary = escaped(self.summary)
        if self.call_id is not None:
            self.call_id = escaped(self.call_id)
        if self.response_id is not None:
            self.response_id = escaped(self.response_id)
        if self.path is not None:
            self.path = escaped(self.path)

    def has_nul(self) -> bool:
        """Whether a text holds a NUL character, which PostgreSQL cannot store."""
        call, response, path = self.call_id, self.response_id, self.path
        return (
            "\0" in self.summary
            or (call is not None and "\0" in call)
            or (response is not None and "\0" in response)
            or (path is not None and "\0" in path)
        )


class CopyRow(msgspec.Struct, gc=False, kw_only=True):
    """Another place in the logs with a record that is stored already.

    ``seq`` is its position in a session that inherits the record. It is None for a record that the
    owner's own logs repeat.
    """

    seq: int | None
    record: bytes
    block: int
    source_id: int
    place: int
    length: int


EVENT_COLUMNS = tuple(
    name for name in EventRow.__struct_fields__ if name not in ("words", "prepared")
)
COPY_COLUMNS = CopyRow.__struct_fields__
