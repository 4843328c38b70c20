"""The state of a log of Qwen Code from line to line: the last request, and skipped lines."""

import msgspec

from session_memory.adapters.cursor_state import bounded

_MOST_SKIPPED = 16


class QwenState(msgspec.Struct):
    """What the adapter remembers after a line, to translate the next one.

    - ``response``: the id of the response to the last logged request, until its answer comes.
    - ``model``: the model of the last logged request.
    - ``is_requested``: a request was logged, and its answer is not yet read.
    - ``counts_requests``: this version of Qwen Code logs the usage of each request.
    - ``skipped``: the id of a line in the session's log that belongs to a subagent → the id of the
      session's own line before it. The session's next line names the subagent's line as its parent,
      so it must be linked to its own line instead.
    """

    response: str = ""
    model: str = ""
    is_requested: bool = False
    counts_requests: bool = False
    skipped: dict[str, str] = {}

    def skip(self, own: str, parent: str) -> None:
        """Note that the line ``own`` belongs to a subagent. ``parent`` is the session's line before
        it."""
        if own:
            bounded(self.skipped, _MOST_SKIPPED)[own] = parent

    def before(self, parent: str) -> str:
        """Return the parent of a line that names ``parent`` as its parent. If ``parent`` is a line
        of a subagent, that is the session's own line before it."""
        return self.skipped.get(parent, parent)
