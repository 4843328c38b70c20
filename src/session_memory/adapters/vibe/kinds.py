"""Kinds of records in Vibe's journals that hold nothing a person or a model said."""

# Records of these kinds become no events, unless they hold something that no other record has.
BOOKKEEPING = frozenset(
    {
        *("action_intent", "action_result", "command_reserved", "core_input", "projection_delta"),
        *("callback_registered", "callback_resolved", "receipt_failed", "receipt_succeeded"),
    }
)
# Kinds that transcripts leave out.
HIDDEN = frozenset({"turn"})
