"""What a line of a Gemini log needs to know of the lines before it."""

from typing import Any

import msgspec

from session_memory.adapters.cursor_state import bounded

# A message is written again at most a few lines later.
_MOST_MESSAGES = 16
_MOST_CALLS = 64
_MOST_PROMPTS = 200


class GeminiState(msgspec.Struct):
    """``written``: the last messages, and how many times each was written. ``asked`` and
    ``answered``: the last calls and results. ``before``: for a prompt, the record before it."""

    session: str = ""
    last: str = ""
    messages: int = 0
    written: dict[str, int] = {}
    asked: dict[str, int] = {}
    answered: dict[str, int] = {}
    before: dict[str, str] = {}

    def write(self, message: str) -> int:
        """Note a message, and return how many times it was written before."""
        times = self.written.get(message, 0)
        _put(self.written, message, times + 1, _MOST_MESSAGES)
        return times

    def ask(self, call: str) -> bool:
        """Note a call, and return whether it is new."""
        return _is_new(self.asked, call)

    def answer(self, call: str) -> bool:
        """Note the result of a call, and return whether it is new."""
        return _is_new(self.answered, call)

    def prompt(self, message: str) -> None:
        _put(self.before, message, self.last, _MOST_PROMPTS)


def _is_new(calls: dict[str, int], call: str) -> bool:
    if call in calls:
        return False
    _put(calls, call, 1, _MOST_CALLS)
    return True


def _put(entries: dict[str, Any], name: str, value: Any, most: int) -> None:
    if name not in entries:
        bounded(entries, most)
    entries[name] = value
