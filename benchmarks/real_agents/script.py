"""The replies of one session of the bench.

Only requests that offer the shell and carry the words of the session's prompt get the next reply of
the script. Agents ask for other things beside it (a title, a summary of a topic): those are
answered with one word.
"""

import threading

from session_memory.conformance.reply import Ids, Reply
from session_memory.conformance.sent import Sent
from session_memory.conformance.server import Served

_IDS = Ids("bench")


class Script:
    """The replies, and the requests that asked for them."""

    def __init__(self, name: str, tool: str, prompt: str, replies: tuple[Reply, ...]) -> None:
        self.name, self.tool, self.prompt = name, tool, prompt
        self.requests: list[Sent] = []
        self.others: list[str] = []
        self._replies = replies
        self._lock = threading.Lock()

    def serve(self, sent: Sent) -> Served:
        with self._lock:
            return Served(sent.wire.answer(self._next(sent), _IDS, sent.model))

    def _next(self, sent: Sent) -> Reply:
        if not sent.offers(self.tool) or self.prompt not in sent.text:
            return Reply("Scripted")
        self.requests.append(sent)
        place = len(self.requests) - 1
        return self._replies[place] if place < len(self._replies) else Reply("The script is over.")
