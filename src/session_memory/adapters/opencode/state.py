"""The state of an opencode session from line to line."""

from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.row_messages import RowsState

_MOST_PROMPTS = 200


class OpencodeState(RowsState):
    """What the adapter remembers after a line, to translate the next one.

    - ``session``: the id of the session in an exported file.
    - ``lineage``: a text that identifies the first message, which a fork copies.
    - ``is_child``: the session is a subagent.
    - ``before``: for each of the last prompts, the record before it.
    - ``revert``: the prompt that the session is taken back to; "" if to none.
    - ``own_command``: the message that says that the person ran a command.
    - ``turned``: the last record of the session before it was taken back.
    """

    session: str = ""
    lineage: str = ""
    is_child: bool = False
    before: dict[str, str] = {}
    revert: str = ""
    own_command: str = ""
    turned: str = ""

    def prompt(self, message: str) -> None:
        """Note which record is before a prompt, because the session may be taken back to it. Call
        it before the prompt's own record is added."""
        if message not in self.before:
            bounded(self.before, _MOST_PROMPTS)
        self.before[message] = self.last
