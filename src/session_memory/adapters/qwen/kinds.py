"""Kinds of records in Qwen Code's logs that hold no words of a person or a model."""

# They give no events: what a request used or a tool did (the result says it too), snapshots.
BOOKKEEPING = frozenset(
    {
        "attribution_snapshot",
        "file_history_snapshot",
        "session_artifact_event",
        "session_artifact_snapshot",
        "ui_telemetry",
    }
)
# They are events that a reader does not want to see.
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
