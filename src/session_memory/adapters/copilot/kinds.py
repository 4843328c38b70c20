"""Which records of Copilot become no events, and which events transcripts leave out."""

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
# Native kinds of events that transcripts leave out, unless all events are shown.
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
