"""What a line of a Gemini log needs to know of the lines before it."""

from typing import Any

import msgspec

from session_memory.adapters.cursor_state import bounded

# A message is written again at most a few lines later.
_MOST_MESSAGES = 64
_MOST_CALLS = 256
_MOST_PROMPTS = 200


class GeminiState(msgspec.Struct):
    """``written``: the last messages, and how many times each was written. ``asked``: the last
    calls, and the message of each. ``answered``: the calls that have a result. ``before``: for a
    prompt, the record before it."""

    session: str = ""
    last: str = ""
    messages: int = 0
    written: dict[str, int] = {}
    asked: dict[str, str] = {}
    answered: dict[str, int] = {}
    before: dict[str, str] = {}

    def write(self, message: str) -> int:
        """Note a message, and return how many times it was written before."""
        times = self.written.get(message, 0)
        _put(self.written, message, times + 1, _MOST_MESSAGES)
        return times

    def ask(self, call: str, message: str) -> bool:
        """Note a call of a message, and return whether it is new.

        Another message may have a call with the same id: some models number their calls.
        """
        if self.asked.get(call) == message:
            return False
        if call in self.asked:
            self.answered.pop(call, None)
        _put(self.asked, call, message, _MOST_CALLS)
        return True

    def answer(self, call: str) -> bool:
        """Note the result of a call, and return whether it is new."""
        if call in self.answered:
            return False
        _put(self.answered, call, 1, _MOST_CALLS)
        return True

    def prompt(self, message: str) -> None:
        _put(self.before, message, self.last, _MOST_PROMPTS)


def _put(entries: dict[str, Any], name: str, value: Any, most: int) -> None:
    if name not in entries:
        bounded(entries, most)
    entries[name] = value
