"""The MCP server over HTTP: each request is answered by itself, without state between requests.

Clients send the server's token as ``Authorization: Bearer TOKEN``. A web page cannot: browsers do
not let it set this header for another origin, and a foreign ``Origin`` is refused.
"""

import json
from threading import Lock
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from session_memory.mcp.asking import AskedMemory
from session_memory.mcp.protocol import INVALID_REQUEST, Protocol, ToolJob

LONGEST = 1 << 20


class McpEndpoint:
    """Answers the messages of MCP clients, one at a time."""

    def __init__(self, asked: AskedMemory) -> None:
        self._asked = asked
        self._lock = Lock()

    async def endpoint(self, request: Request) -> Response:
        if request.method != "POST":
            # A GET asks for a stream of the server's own messages. This server sends none.
            return Response(None, 405, {"Allow": "POST"})
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LONGEST:
                return self._sent([self._too_long()])
        return self._sent(await run_in_threadpool(self._answers, body))

    def _answers(self, body: bytes) -> list[Any]:
        found: list[Any] = []
        protocol = Protocol(found.append, self._asked.answer, ToolJob.run)
        with self._lock:
            protocol.receive(body)
        return found

    @staticmethod
    def _too_long() -> dict[str, Any]:
        found: list[Any] = []
        refused = Protocol(found.append, lambda _name, _given: "", ToolJob.run)
        refused.refuse(INVALID_REQUEST, f"a message has at most {LONGEST:,} bytes")
        message: dict[str, Any] = found[0]
        return message

    @staticmethod
    def _sent(messages: list[Any]) -> Response:
        if not messages:
            return Response(None, 202)
        return Response(json.dumps(messages[0]), media_type="application/json")
