"""The roles a source can have: what kind of file it is and how it is read."""

LOG = "log"
"""A file of records that the agent appends to."""
TIMELINE = "timeline"
"""A second log of a session. It is read before the main log. If it arrives later, the stored events
are amended, or the session is derived again."""
DOCUMENT = "document"
"""A small file that the agent rewrites as a whole. Each version is one record."""
SPILL = "spill"
"""A file with a long text that the agent moved out of its log, such as the output of a tool. It is
kept byte for byte and gives no events."""
TABLE = "table"
"""Rows of a live session in our own store, read as lines. No copy of them is stored."""
REWRITTEN = "rewritten"
"""A document with the messages of a session, which the agent rewrites as a whole. It is stored as
lines, to which new lines are only appended (`session_memory.core.document_lines`)."""
LOGS = frozenset({LOG, TIMELINE, TABLE, REWRITTEN})
"""The roles that are read line by line."""
FILE_ROLES = (LOG, TIMELINE, DOCUMENT, SPILL, REWRITTEN)
"""The roles of files. A table is made from our own database."""
ALL_ROLES = (*FILE_ROLES, TABLE)
FIRST_LOGS = (LOG, REWRITTEN)
"""The roles of a session's main file. Files with other roles are its companions."""
