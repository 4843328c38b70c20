"""What a line of a Qwen log needs to know of the lines before it."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_MOST_SKIPPED = 16


class QwenState(msgspec.Struct):
    """``response`` and ``model``: of the last request that was logged and not answered yet.

    ``skipped``: lines that belong to a subagent, each with the line before it. The next line of the
    session follows them, and they are no part of the session.
    """

    response: str = ""
    model: str = ""
    counts_requests: bool = False
    skipped: dict[str, str] = {}

    def skip(self, own: str, parent: str) -> None:
        """Note a line of a subagent. ``parent`` is the line of the session before it."""
        if own:
            bounded(self.skipped, _MOST_SKIPPED)[own] = parent

    def before(self, parent: str) -> str:
        """The line that a line with this ``parentUuid`` follows in its session."""
        return self.skipped.get(parent, parent)
