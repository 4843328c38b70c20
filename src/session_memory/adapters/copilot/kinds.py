"""Kinds of events in Copilot's logs that hold no words of a person or a model."""

# They give no events: what a request used, the beginning of a turn, a call that is run (the answer
# has the call), hooks that ran.
BOOKKEEPING = frozenset(
    {
        "assistant.turn_start",
        "hook.end",
        "hook.start",
        "session.usage_checkpoint",
        "session.usage_record",
        "tool.execution_start",
    }
)
# They are events that a reader does not want to see.
HIDDEN = frozenset(
    {
        "assistant.turn_end",
        "model",
        "session.context_changed",
        "session.info",
        "session.mode_changed",
        "session.model_change",
        "session.resume",
        "session.shutdown",
        "session.start",
        "system.message",
        "tool.user_requested",
    }
)
