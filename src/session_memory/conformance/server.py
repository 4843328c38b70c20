"""A local HTTP server that answers agents like a model. A player decides what to answer; the server
sends it whole, streamed, cut in the middle, with a pause, or never to its end."""

import gzip
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from session_memory.conformance.reply import CUT, HANG, MODEL, PAUSE, Answer
from session_memory.conformance.sent import Sent
from session_memory.conformance.wires import wire_of

# Seconds until a stream that hangs is closed; no agent waits longer.
_LONGEST_HANG = 120.0
# Seconds between events. Without a pause, Grok reads some answers as empty ones.
_BETWEEN_EVENTS = 0.002


@dataclass(frozen=True)
class Served:
    """The response to one request of an agent: an answer of the model, or an HTTP error.

    ``fault`` says how the stream of an answer breaks off."""

    answer: Answer | None = None
    fault: str = ""
    status: int = 200
    error: dict[str, Any] = field(default_factory=dict)


class Player(Protocol):
    """Answers requests. Requests for anything but an answer are only noted in `others`."""

    others: list[str]

    def serve(self, sent: Sent) -> Served: ...


class SilentPlayer:
    """The player before the first script: it answers every request with an HTTP error."""

    def __init__(self) -> None:
        self.others: list[str] = []

    def serve(self, sent: Sent) -> Served:
        return Served(status=503, error=sent.wire.failure(503))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *_: Any) -> None:
        """Print nothing; the player keeps the requests."""

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

    def _json(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.server.player.others.append(f"GET {self.path}")
        if "/models" not in self.path:
            return self._json({"error": {"message": "not here"}}, 404)
        model = {"id": MODEL, "object": "model", "created": 1_760_000_000, "owned_by": "script"}
        return self._json({"object": "list", "data": [model], "has_more": False})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        path, raw = self.path.split("?")[0], self._body()
        if "ount" in path and "okens" in path:
            return self._json({"input_tokens": 1000, "totalTokens": 1000})
        wire = wire_of(path)
        if wire is None:
            self.server.player.others.append(f"POST {self.path}")
            return self._json({"error": {"message": "not here"}}, 404)
        sent = Sent.of(wire, self.path, raw)
        served = self.server.player.serve(sent)
        if served.answer is None:
            return self._json(served.error, served.status)
        if sent.wants_stream:
            return self._stream(served.answer.events, served.fault)
        return self._json(served.answer.whole)

    def _stream(self, events: tuple[bytes, ...], fault: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        middle = len(events) // 2
        self._write(events[:middle] if fault else events)
        if fault == PAUSE:
            self._pause()
            self._write(events[middle:])
        if fault == HANG:
            self._hang()
        if fault in (HANG, CUT):
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, events: tuple[bytes, ...]) -> None:
        for event in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
            time.sleep(_BETWEEN_EVENTS)

    def _pause(self) -> None:
        """Send nothing until the agent got the next queued prompt of the scenario."""
        self.server.going_on.clear()
        self.server.hanging.set()
        self.server.going_on.wait(_LONGEST_HANG)

    def _hang(self) -> None:
        """Send nothing more until the agent closes the connection."""
        self.server.hanging.set()
        until = time.monotonic() + _LONGEST_HANG
        self.connection.settimeout(0.2)
        while time.monotonic() < until and not self.server.closing.is_set():
            try:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    return
                time.sleep(0.2)
            except TimeoutError:
                continue
            except ConnectionError:
                return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.player: Player = SilentPlayer()
        self.hanging, self.closing = threading.Event(), threading.Event()
        self.going_on = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a closed connection: an agent may end before it has read the whole answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Model:
    """The server. `play` sets who answers from now on. `hanging` is set when a stream hangs or
    pauses; a pause lasts until `going_on` is set."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.hanging, self.going_on = server.hanging, server.going_on
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def play(self, player: Player) -> None:
        self._server.player = player


@contextmanager
def serving() -> Iterator[Model]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Model(server)
    finally:
        server.closing.set()
        server.going_on.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
