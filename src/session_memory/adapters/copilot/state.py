"""The state of a Copilot log from line to line: the session, the model, and the tokens counted."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_BUCKETS = 5
_MOST_MODELS = 64
_MOST_CALLS = 64


class CopilotState(msgspec.Struct):
    """What the adapter remembers after a line, to translate the next one.

    ``counted`` has the sums so far: five token counts for each model.

    ``names_models``: an answer named its model, so this release names the model of each answer.
    ``own_calls`` are the open calls that no model made: Copilot itself reads what a subagent
    answered in the background, and logs this as a call. ``cancelled`` are the calls that ended when
    a person closed the question whether they may run.

    Since 1.0.100, Copilot logs the usage of each request. Older versions log only the sums of the
    session, each time the session ends. A resumed session continues its sums, so only the
    difference to the sums before is new.
    """

    session: str = ""
    model: str = ""
    counted: dict[str, list[int]] = {}
    names_models: bool = False
    own_calls: dict[str, int] = {}
    cancelled: dict[str, int] = {}

    def note_own_call(self, call: str) -> None:
        _note(self.own_calls, call)

    def cancel(self, call: str) -> bool:
        """Note a call that was cancelled, and return whether it is new."""
        is_new = call not in self.cancelled
        _note(self.cancelled, call)
        return is_new

    def count(self, model: str, figures: list[int]) -> None:
        before = self.counted.get(model, [0] * _BUCKETS)
        if model not in self.counted:
            bounded(self.counted, _MOST_MODELS)
        self.counted[model] = [a + b for a, b in zip(before, figures, strict=True)]

    def rest(self, model: str, totals: list[int]) -> list[int]:
        """Return how much ``totals`` exceed the tokens counted so far, and count the difference."""
        before = self.counted.get(model, [0] * _BUCKETS)
        rest = [max(total - seen, 0) for total, seen in zip(totals, before, strict=True)]
        self.count(model, rest)
        return rest


def _note(calls: dict[str, int], call: str) -> None:
    if call not in calls:
        bounded(calls, _MOST_CALLS)[call] = 1
