"""Which records of Vibe become no events, and which events transcripts leave out."""

# Records of these kinds become no events, unless they hold something that no other record has.
BOOKKEEPING = frozenset(
    {
        *("action_intent", "action_result", "command_reserved", "core_input", "projection_delta"),
        *("callback_registered", "callback_resolved", "receipt_failed", "receipt_succeeded"),
    }
)
# Native kinds of events that transcripts leave out, unless all events are shown.
HIDDEN = frozenset({"turn"})
