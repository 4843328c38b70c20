"""The roles a source can have: what kind of file it is and how it is read."""

LOG = "log"
"""A file of records that the agent appends to."""
TIMELINE = "timeline"
"""A second log beside a session's first. It is read before the first one, or amends it."""
DOCUMENT = "document"
"""A small file that the agent rewrites as a whole. Each version is one record."""
SPILL = "spill"
"""A body that the agent moved out of its log. It is kept byte for byte and gives no events."""
TABLE = "table"
"""Rows of our own store, read as lines. They are their own raw."""
REWRITTEN = "rewritten"
"""A document with the messages of a session, which the agent rewrites as a whole. It is kept as
lines that only grow (`session_memory.core.document_lines`)."""
LOGS = frozenset({LOG, TIMELINE, TABLE, REWRITTEN})
"""The roles that are read line by line."""
FILE_ROLES = (LOG, TIMELINE, DOCUMENT, SPILL, REWRITTEN)
"""The roles of files. A table is made from our own database."""
FIRST_LOGS = (LOG, REWRITTEN)
"""The roles of the file that a session is read from, of which others are companions."""
