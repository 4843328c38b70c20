"""What an event in a Copilot log needs to know of the events before it."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_BUCKETS = 5
_MOST_MODELS = 64


class CopilotState(msgspec.Struct):
    """``counted``: what has been counted of each model, as five figures that only grow.

    Copilot logs the usage of each request, since 1.0.100. Older versions log only the sum of a
    session, each time it ends, whatever was resumed. So the rest of a sum is what is new in it.
    """

    session: str = ""
    model: str = ""
    counted: dict[str, list[int]] = {}

    def count(self, model: str, figures: list[int]) -> None:
        before = self.counted.get(model, [0] * _BUCKETS)
        if model not in self.counted:
            bounded(self.counted, _MOST_MODELS)
        self.counted[model] = [a + b for a, b in zip(before, figures, strict=True)]

    def rest(self, model: str, totals: list[int]) -> list[int]:
        """What the totals contain that was not counted yet. It is counted with this."""
        before = self.counted.get(model, [0] * _BUCKETS)
        rest = [max(total - seen, 0) for total, seen in zip(totals, before, strict=True)]
        self.count(model, rest)
        return rest
