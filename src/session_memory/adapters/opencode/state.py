"""What a line of an opencode session needs to know of the lines before it."""

from typing import Any

import msgspec

from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.row_journal import JournalState

_MOST_PROMPTS = 200
_MOST_GIVEN = 16


class OpencodeState(msgspec.Struct):
    """What is known after a line.

    - ``session``: the id in an exported file
    - ``lineage``: names the first message, which a fork copies
    - ``is_child``: the session is a subagent
    - ``last``: the last record
    - ``given``: of messages that were read while the agent still wrote them, the blocks that have
      events
    - ``before``: for each prompt, the record before it
    - ``revert``: the message that the session was taken back to; ``turned``: the record before that
    """

    journal: JournalState = msgspec.field(default_factory=JournalState)
    session: str = ""
    lineage: str = ""
    is_child: bool = False
    last: str = ""
    given: dict[str, list[str]] = {}
    before: dict[str, str] = {}
    revert: str = ""
    turned: str = ""

    def give(self, message: str, blocks: list[str]) -> None:
        put(self.given, message, blocks, _MOST_GIVEN)

    def prompt(self, message: str) -> None:
        """Note a prompt. The session may be taken back to it."""
        put(self.before, message, self.last, _MOST_PROMPTS)


def put(entries: dict[str, Any], name: str, value: Any, most: int) -> None:
    if name not in entries:
        bounded(entries, most)
    entries[name] = value
