"""Kinds of records in Claude Code's logs that give no events, or events that `show` leaves out."""

# These kinds give no events: copies of requests, progress reports and internal states. The store
# keeps their lines, and reports count them.
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
# These kinds give events that `show` leaves out, because a reader does not want to see them.
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
