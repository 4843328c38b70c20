"""What a line of an opencode session needs to know of the lines before it."""

from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.row_messages import RowsState

_MOST_PROMPTS = 200


class OpencodeState(RowsState):
    """What is known after a line.

    - ``session``: the id in an exported file
    - ``lineage``: names the first message, which a fork copies
    - ``is_child``: the session is a subagent
    - ``before``: for each prompt, the record before it
    - ``revert``: the message that the session was taken back to; ``turned``: the record before that
    """

    session: str = ""
    lineage: str = ""
    is_child: bool = False
    before: dict[str, str] = {}
    revert: str = ""
    turned: str = ""

    def prompt(self, message: str) -> None:
        """Note a prompt before its record. The session may be taken back to it."""
        if message not in self.before:
            bounded(self.before, _MOST_PROMPTS)
        self.before[message] = self.last
