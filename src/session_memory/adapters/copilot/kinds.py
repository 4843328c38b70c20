"""Kinds of events in Copilot's logs that hold no words of a person or a model."""

# Kinds that give no events: the usage of a request, the beginning of a turn, the start of a call
# (the answer before it has the call), hooks.
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
# Kinds that transcripts leave out.
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
