"""Kinds of records in Claude Code's logs that hold no words of a person or a model."""

# They give no events: copies of requests, progress ticks and latches. The store keeps their lines,
# and reports count them.
BOOKKEEPING = frozenset(
    {
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "bridge-session",
        "last-prompt",
        "progress",
        "tools-used",
    }
)
# They are events that a reader does not want to see.
HIDDEN = frozenset(
    {
        "agent-name",
        "ai-title",
        "attachment",
        "cost-state",
        "custom-title",
        "file-history-snapshot",
        "mode",
        "permission-mode",
        "queue-operation",
        "summary",
        "system/stop_hook_summary",
        "system/turn_duration",
    }
)
