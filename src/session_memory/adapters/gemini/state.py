"""The state of a Gemini log from line to line: which messages, calls and prompts were read."""

from typing import Any
from zlib import crc32

import msgspec

from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.json_records import string

# Gemini CLI writes a message again at most a few lines later.
_MOST_MESSAGES = 64
_MOST_CALLS = 256
_MOST_PROMPTS = 200
# Stands for the message of a call that no message has: only the call's result is logged.
_UNKNOWN = "?"
# The state is stored with each part of a log, so it must be short. No model has a longer name.
_LONGEST_MODEL = 200


class GeminiState(msgspec.Struct):
    """What the adapter remembers after a line, to translate the next one.

    - ``last``: the native id of the last record; ``messages``: the number of messages.
    - ``written``: how often each of the last messages was written.
    - ``asked``: the last calls, each with its message; ``answered``: the calls with a result.
    - ``before``: for each prompt on the path, the record before it and a checksum of its text.
    - ``model``: the model of the last answer that names one.
    """

    session: str = ""
    last: str = ""
    messages: int = 0
    written: dict[str, int] = {}
    asked: dict[str, str] = {}
    answered: dict[str, int] = {}
    before: dict[str, tuple[str, int]] = {}
    model: str = ""

    def model_of(self, message: dict[str, Any]) -> str:
        """Return the model of an answer. An answer without text names no model; it has the model of
        the answer before it."""
        named = string(message.get("model"))
        if named:
            self.model = named if len(named) <= _LONGEST_MODEL else ""
        return named or self.model

    def write(self, message: str) -> int:
        """Note a message, and return how many times it was written before."""
        times = self.written.get(message, 0)
        _put(self.written, message, times + 1, _MOST_MESSAGES)
        return times

    def ask(self, call: str, message: str) -> bool:
        """Note a call of a message, and return whether it is new.

        Another message may have a call with the same id: some models number their calls.
        """
        if self.asked.get(call) in (message, _UNKNOWN):
            self.asked[call] = message
            return False
        if call in self.asked:
            self.answered.pop(call, None)
        _put(self.asked, call, message, _MOST_CALLS)
        return True

    def miss(self, call: str) -> bool:
        """Note a call that is logged only by its result, and return whether it is new."""
        if call in self.asked:
            return False
        _put(self.asked, call, _UNKNOWN, _MOST_CALLS)
        return True

    def answer(self, call: str) -> bool:
        """Note the result of a call, and return whether it is new."""
        if call in self.answered:
            return False
        _put(self.answered, call, 1, _MOST_CALLS)
        return True

    def prompt(self, message: str, words: str) -> None:
        """Note a prompt, because the session may go back to before it."""
        _put(self.before, message, (self.last, _checksum(words)), _MOST_PROMPTS)

    def rename_prompts(self, history: list[tuple[str, str]]) -> None:
        """Give the prompts on the path the ids that they have from now on.

        ``history`` has the id and the text of each prompt, in their order. The last prompts are
        compared first, because the history may have a summary in place of the older ones.
        """
        noted, renamed = list(self.before.values()), []
        for message, words in reversed(history):
            checksum = _checksum(words)
            at = next((n for n in reversed(range(len(noted))) if noted[n][1] == checksum), None)
            if at is not None:
                renamed.append((message, noted[at]))
                del noted[at:]
        if renamed:
            self.before = dict(reversed(renamed))

    def go_back(self, message: str) -> bool:
        """Go back to before a prompt. Return False if no prompt with this id is known."""
        if message not in self.before:
            return False
        self.last = self.before[message][0]
        names = list(self.before)
        for name in names[names.index(message) :]:
            del self.before[name]
        return True


def _checksum(words: str) -> int:
    return crc32(words.encode("utf-8", "surrogatepass"))


def _put(entries: dict[str, Any], name: str, value: Any, most: int) -> None:
    if name not in entries:
        bounded(entries, most)
    entries[name] = value
