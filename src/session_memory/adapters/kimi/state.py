"""The state of a Kimi log from line to line: the request, the model, prompts and questions."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_MOST_WAITING = 16


class KimiState(msgspec.Struct):
    """What the adapter remembers after a line, to translate the next one.

    - ``lineage``: the time at which the log began. It is in a line that a fork copies.
    - ``step``: the id of the last request.
    - ``ended``: how the last request ended.
    - ``model``: the model of the last request.
    - ``has_prompts``: the log has a prompt.
    - ``prompts``: the prompts whose second copy has not come yet.
    - ``asked``: for each open question to a person, the call that the question is about.
    """

    lineage: str = ""
    step: str = ""
    ended: str = ""
    model: str = ""
    has_prompts: bool = False
    prompts: dict[str, bool] = {}
    asked: dict[str, str] = {}

    def expect_copy(self, key: str) -> None:
        """Note that the log will repeat the prompt with this key."""
        bounded(self.prompts, _MOST_WAITING)[key] = True

    def is_copy(self, key: str) -> bool:
        """Whether a message with this key repeats a prompt. Each prompt is repeated once."""
        return self.prompts.pop(key, False)

    def ask(self, question: str, call: str) -> None:
        """Note that the question with the id ``question`` asks a person to allow the ``call``."""
        bounded(self.asked, _MOST_WAITING)[question] = call
