"""What an event in a Copilot log needs to know of the events before it."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_BUCKETS = 5
_MOST_MODELS = 64


class CopilotState(msgspec.Struct):
    """``counted``: the tokens of each model that were counted so far, as five figures.

    Since 1.0.100, Copilot logs the usage of each request. Older versions log only sums, whenever
    the session ends. A resumed session continues its sums, so only what was added to them is new.
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
        """Count what the totals contain that was not counted before, and return it."""
        before = self.counted.get(model, [0] * _BUCKETS)
        rest = [max(total - seen, 0) for total, seen in zip(totals, before, strict=True)]
        self.count(model, rest)
        return rest
