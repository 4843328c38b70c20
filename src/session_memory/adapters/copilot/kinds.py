"""Kinds of events in Copilot's logs that hold nothing a person or a model said."""

# Records of these kinds become no events. They hold the usage of a request, the start of a turn, a
# call that the answer before them has too, or a run of a hook.
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
