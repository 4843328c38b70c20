"""Read a source of Cline: the messages of a session, a document beside them, or a task."""

from collections.abc import Iterator

from session_memory.adapters.base import Cursor, Readable, Record
from session_memory.adapters.cline.about import from_document
from session_memory.adapters.cline.layout import COMPACTION
from session_memory.adapters.cline.translate import COPY_READER, READER
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.documents import read_document, read_messages
from session_memory.adapters.editor_tasks.layout import FACTS, HISTORY, MESSAGES
from session_memory.adapters.editor_tasks.translate import read_task
from session_memory.adapters.written_messages import WrittenMessages
from session_memory.core.roles import DOCUMENT

_TEXTS = StateText(WrittenMessages)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    if source.ref.path.name in (MESSAGES, HISTORY, *FACTS):
        return read_task(source, cursor, may_include_cache=False)
    if source.ref.role == DOCUMENT:
        return read_document(source, cursor, from_document)
    is_copy = source.ref.path.name.endswith(COMPACTION)
    return read_messages(source, cursor, _TEXTS, COPY_READER if is_copy else READER)
