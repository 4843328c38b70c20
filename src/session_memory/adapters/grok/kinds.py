"""Kinds of records in Grok's logs that give no events. The store keeps their lines, and reports
count them."""

# Progress reports, previews, copies of settings, and lines that only complete an earlier line.
BOOKKEEPING = frozenset(
    {
        "agent_message_chunk",
        "agent_thought_chunk",
        "available_commands_update",
        "background_tasks",
        "hooks_changed",
        "interaction_resolved",
        "memory_files",
        "pending_interaction",
        "plugins_changed",
        "reasoning_completed",
        "relay_sync_status",
        "response_completed",
        "response_started",
        "session_status",
        "subagent_progress",
        "tool_call",
        "tool_call_delta_chunk",
        "tool_call_update",
        "user_message_chunk",
    }
)
# Kinds of lines in a timeline (`events.jsonl`): moments of a turn, and how calls ended.
TIMELINE_BOOKKEEPING = frozenset(
    {
        "first_token",
        "interjected",
        "loop_started",
        "permission_requested",
        "permission_resolved",
        "phase_changed",
        "tool_completed",
        "tool_started",
        "turn_ended",
        "turn_started",
    }
)
