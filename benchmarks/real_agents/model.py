"""A model on loopback that says what a script tells it, and keeps every request.

Only requests that offer the shell and carry the words of the session's prompt get the next reply of
the script. Agents ask for other things beside it (a title, a summary of a topic): those are
answered with one word.
"""

import gzip
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from real_agents.wires import MODEL, WIRES, Reply, Sent, Wire


class Script:
    """The replies of one session, and the requests that asked for them."""

    def __init__(self, name: str, tool: str, prompt: str, replies: tuple[Reply, ...]) -> None:
        self.name, self.tool, self.prompt = name, tool, prompt
        self.requests: list[Sent] = []
        self.others: list[str] = []
        self._replies = replies
        self._lock = threading.Lock()

    def reply(self, sent: Sent) -> Reply:
        if not sent.offers(self.tool) or self.prompt not in sent.text:
            return Reply("Scripted")
        with self._lock:
            self.requests.append(sent)
            place = len(self.requests) - 1
        return self._replies[place] if place < len(self._replies) else Reply("The script is over.")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *_: Any) -> None:
        """Requests are kept, not logged."""

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _answer(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _json(self, value: Any, status: int = 200) -> None:
        self._answer(status, "application/json", json.dumps(value).encode())

    def do_GET(self) -> None:
        self.server.script.others.append(f"GET {self.path}")
        if "/models" not in self.path:
            return self._json({"error": {"message": "not here"}}, 404)
        model = {"id": MODEL, "object": "model", "created": 1_760_000_000, "owned_by": "script"}
        return self._json({"object": "list", "data": [model], "has_more": False})

    def do_HEAD(self) -> None:
        self._answer(200, "text/plain", b"")

    def do_POST(self) -> None:
        path, raw = self.path.split("?")[0], self._body()
        if "ount" in path and "okens" in path:
            return self._json({"input_tokens": 1000, "totalTokens": 1000})
        wire = _wire_of(path)
        if wire is None:
            self.server.script.others.append(f"POST {self.path}")
            return self._json({"error": {"message": "not here"}}, 404)
        sent = Sent.of(wire, self.path, raw)
        reply = self.server.script.reply(sent)
        if not sent.wants_stream:
            return self._json(wire.whole(reply))
        return self._answer(200, "text/event-stream", wire.stream(reply))


def _wire_of(path: str) -> Wire | None:
    return next((wire for wire in WIRES if path.endswith(wire.path)), None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: Script

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent may go away before it has read everything."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Model:
    """The server; `play` sets what the next session gets."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def play(self, script: Script) -> None:
        self._server.script = script


@contextmanager
def serving() -> Iterator[Model]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.script = Script("", "", "", ())
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Model(server)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
