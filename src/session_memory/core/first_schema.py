"""Names in the logs that an import writes for sessions of a version 1 store.

`adapters.first_schema` reads these logs.
"""

ENDING = ".schema-v1.jsonl"
FIRST_PLACE = "/session-memory-v1/"
"""The start of the path of each such log. No file exists there; the path only names the log."""

EVENT, DIGEST, SESSION = "event", "digest", "session"
CALLS = frozenset({"tool_call", "edit", "test_run", "retry"})
RESULTS = frozenset({"tool_result", "error"})
