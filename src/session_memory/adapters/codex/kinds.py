"""Kinds of records in Codex' logs that give no events, or events that `show` leaves out.

Those in ``BOOKKEEPING`` give no events: the store keeps their lines, and reports count them. Those
in ``HIDDEN`` give events that `show` leaves out.
"""

TWIN = "twin"
# Records that describe a call again. The call itself is in another record.
ENDED = frozenset(
    {
        *("exec_command_begin", "exec_command_end", "exec_command_output_delta"),
        *("patch_apply_begin", "patch_apply_end", "mcp_tool_call_begin", "mcp_tool_call_end"),
        *("web_search_begin", "web_search_end", "view_image_tool_call", "terminal_interaction"),
        *("dynamic_tool_call_request", "dynamic_tool_call_response"),
        *("image_generation_begin", "image_generation_end"),
        *("collab_agent_spawn_begin", "collab_agent_spawn_end"),
        *("collab_agent_interaction_begin", "collab_agent_interaction_end"),
        *("collab_waiting_begin", "collab_waiting_end", "collab_close_begin", "collab_close_end"),
        *("collab_resume_begin", "collab_resume_end", "sub_agent_activity"),
    }
)
TOOL_ITEMS = frozenset(
    {
        *("CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall"),
        *("CollabAgentToolCall", "SubAgentActivity", "WebSearch", "ImageView", "ImageGeneration"),
    }
)
# Counts of tokens, repeated reports of calls, settings that did not change, second copies of a
# message, and a parent's history repeated for a subagent's model.
BOOKKEEPING = (
    frozenset(
        {
            *("state", "token_count", "token_usage_record", "task_started", "item_started"),
            *("turn_context", "thread_settings_applied", TWIN, "inherited"),
        }
    )
    | ENDED
    | TOOL_ITEMS
)
# Events that a reader does not want to see: settings of a session or a turn, instructions to the
# model, and repeated reports of how a turn ended.
HIDDEN = frozenset(
    {
        *("session_meta", "turn_context", "thread_settings_applied", "world_state", "message"),
        *("inter_agent_communication_metadata", "task_complete", "context_compacted"),
        *("user/environment_context", "user/environments.environment_context"),
        *("user/agents_md", "user/recommended_plugins", "user/turn_aborted"),
    }
)
