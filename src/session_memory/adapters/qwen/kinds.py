"""Which records of Qwen Code become no events, and which events transcripts leave out."""

# Records of these kinds become no events. They hold the usage of a request, a snapshot, or a tool's
# result that another record has, too.
BOOKKEEPING = frozenset(
    {
        "attribution_snapshot",
        "file_history_snapshot",
        "session_artifact_event",
        "session_artifact_snapshot",
        "ui_telemetry",
        # In documents of versions up to 0.3.
        *("functionResponse", "generation", "head", "header", "tail", "written again"),
    }
)
# Native kinds of events that transcripts leave out, unless all events are shown.
HIDDEN = frozenset(
    {
        "system/agent_bootstrap",
        "system/branch_checkpoint",
        "system/custom_title",
        "system/parent_session",
        "system/session_model",
        "system/session_source",
        "system/turn_result",
        "system/user_text_elements",
    }
)
