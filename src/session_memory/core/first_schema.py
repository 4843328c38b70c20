"""The names in logs that hold records of schema version 1 (`adapters.first_schema`)."""

ENDING = ".schema-v1.jsonl"
FIRST_PLACE = "/session-memory-v1/"
"""No agent has logs here. The name of a log does not depend on where its records were."""

EVENT, DIGEST, SESSION = "event", "digest", "session"
CALLS = frozenset({"tool_call", "edit", "test_run", "retry"})
RESULTS = frozenset({"tool_result", "error"})
