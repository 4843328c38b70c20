"""What a line of a Kimi log needs to know of the lines before it."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_MOST_WAITING = 16


class KimiState(msgspec.Struct):
    """``lineage`` is the moment at which the log was begun; a fork copies it with the lines.

    ``step`` is the last request, ``ended`` how it ended, ``model`` its model. ``prompts`` are those
    whose second copy is still to come, ``asked`` the calls that a person was asked about.
    """

    lineage: str = ""
    step: str = ""
    ended: str = ""
    model: str = ""
    has_prompts: bool = False
    prompts: dict[str, bool] = {}
    asked: dict[str, str] = {}

    def expect_copy(self, key: str) -> None:
        """Note that the log will repeat this prompt."""
        bounded(self.prompts, _MOST_WAITING)[key] = True

    def is_copy(self, key: str) -> bool:
        """Whether this message repeats a prompt. Each prompt is repeated once."""
        return self.prompts.pop(key, False)

    def ask(self, question: str, call: str) -> None:
        """Note about which call a person is asked."""
        bounded(self.asked, _MOST_WAITING)[question] = call
