"""Kinds of records in Vibe's journals that hold no words of a person or a model."""

# What the journal repeats or prepares. The answer, the results and the transcript have the words.
BOOKKEEPING = frozenset(
    {
        *("action_intent", "action_result", "command_reserved", "core_input", "projection_delta"),
        *("callback_registered", "callback_resolved", "receipt_failed", "receipt_succeeded"),
    }
)
# Kinds that transcripts leave out.
HIDDEN = frozenset({"turn"})
