"""Which records of Kimi become no events, and which events transcripts leave out."""

# Records of these kinds become no events. They hold settings, counts, and second copies of
# messages.
BOOKKEEPING = frozenset(
    {
        "metadata",
        *("agent.message.appended", "agent.turn.ended", "agent.turn.started"),
        *("file_history.checkpoint", "file_history.tracked"),
        *("llm.request", "llm.tools_snapshot", "mcp.tools_discovered"),
        *("loop/step.begin", "loop/step.end", "message/copy"),
        *("plugin.session_start", "profile.bind", "runtime.set_binding"),
        *("prompt.accepted", "prompt.aborted", "prompt.completed"),
        *("staleGuard.cleared", "staleGuard.recorded"),
        *("task.waitDelivered", "interruptionReminder.recorded"),
        *("token_counting.measured", "token_counting.rebased"),
        *("token_counting.truncated", "token_counting.turn_recorded"),
        *("tools.register_user_tool", "tools.reset_active_tools", "tools.set_active_tools"),
        *("tools.unregister_user_tool", "tools.update_store"),
        "usage.record",
        # kimi-cli
        *("StepBegin", "StatusUpdate", "MCPLoadingBegin", "MCPLoadingEnd", "ToolCallPart"),
        *("HookTriggered", "HookResolved", "ToolCallRequest", "SubagentEvent"),
        *("context/_checkpoint", "context/_system_prompt", "context/_usage"),
    }
)
# Native kinds of events that transcripts leave out, unless all events are shown.
HIDDEN = frozenset(
    {
        *("config.update", "cron", "forked", "full_compaction", "goal", "interaction"),
        *("message/injection", "permission.set_mode", "plan.revision", "subagent.started"),
        *("swarm_mode", "task", "tower_mode", "turn.ended", "turn.step.interrupted"),
        *("CompactionBegin", "CompactionEnd", "TurnEnd"),
    }
)
