"""JSON-RPC 2.0 as MCP uses it. Every request gets exactly one answer, unless it is cancelled.

A call of a tool becomes a job for the function ``run``, which may run it later and in another
thread. All other requests are answered at once.
"""

import json
from threading import Lock

from session_memory import __version__
from session_memory.mcp.catalog import HOOK, INSTRUCTIONS, NAMES, TOOLS, ToolError

# Importing typing takes longer than answering the first requests. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Reply = Callable[[Any], None]

NEWEST = "2025-11-25"
VERSIONS = (NEWEST, "2025-06-18", "2025-03-26", "2024-11-05")
# Later versions have no batches.
WITH_BATCHES = ("2025-03-26", "2024-11-05")
MOST_BATCHED = 50
LONGEST_ID = 1_000
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class RequestError(Exception):
    """A request that cannot be answered, with its JSON-RPC code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ToolJob:
    """One call of a tool. It ends once: with an answer, a failure or a cancellation."""

    def __init__(self, work: "Callable[[], str]", reply: "Reply", request: "Any") -> None:
        self._work = work
        self._reply = reply
        self._request = request
        self._lock = Lock()
        self.is_answered = False

    def run(self) -> None:
        if self.is_answered:
            return
        try:
            self.answer(self._work(), is_error=False)
        except ToolError as error:
            self.answer(str(error), is_error=True)
        except Exception as error:
            # One question must not end the server, and the text of the error may quote a log.
            self.answer(f"session-memory failed: {type(error).__name__}", is_error=True)

    def answer(self, text: str, *, is_error: bool) -> None:
        content = [{"type": "text", "text": text}]
        self._finish(_result(self._request, {"content": content, "isError": is_error}))

    def cancel(self) -> None:
        """Send no answer. A client that cancels a request does not wait for one."""
        self._finish(None)

    def _finish(self, message: "Any") -> None:
        with self._lock:
            is_first, self.is_answered = not self.is_answered, True
        if is_first:
            self._reply(message)


class Protocol:
    """One connection. ``send`` sends a message to the client. ``call`` returns the answer to a call
    of a tool. ``run`` runs the job of a call."""

    def __init__(
        self,
        send: "Reply",
        call: "Callable[[str, dict[str, Any]], str]",
        run: "Callable[[ToolJob], None]",
    ) -> None:
        self._send = send
        self._call = call
        self._run = run
        self._version = NEWEST
        self._jobs: dict[Any, ToolJob] = {}

    def receive(self, line: bytes) -> None:
        """Answer one line from the client."""
        if not line.strip():
            return
        try:
            message = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            self.refuse(PARSE_ERROR, "the line is not JSON")
            return
        if isinstance(message, list):
            self._receive_batch(message)
        else:
            self._receive_one(message, self._send_one)

    def refuse(self, code: int, message: str) -> None:
        """Send an error for a message that has no usable id."""
        self._send(_error(None, code, message))

    def _send_one(self, message: "Any") -> None:
        if message is not None:
            self._send(message)

    def _receive_batch(self, messages: "list[Any]") -> None:
        if self._version not in WITH_BATCHES:
            self.refuse(INVALID_REQUEST, f"protocol {self._version} has no batches")
        elif not 0 < len(messages) <= MOST_BATCHED:
            self.refuse(INVALID_REQUEST, f"a batch has 1 to {MOST_BATCHED} messages")
        else:
            gathered = _Batch(len(messages), self._send)
            for message in messages:
                self._receive_one(message, gathered.add)

    def _receive_one(self, message: "Any", reply: "Reply") -> None:
        request = None
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise RequestError(INVALID_REQUEST, "a message is an object with jsonrpc 2.0")
            if "method" not in message and ("result" in message or "error" in message):
                reply(None)  # The client answers a question that this server never asks.
                return
            if "id" in message:
                request = _checked_id(message["id"])
            method, params = message.get("method"), message.get("params", {})
            if not isinstance(method, str):
                raise RequestError(INVALID_REQUEST, "method must be a text")
            if "id" not in message:
                self._notice(method, params)
                reply(None)
                return
            if not isinstance(params, dict):
                raise RequestError(INVALID_PARAMS, "params must be an object")
            self._answer(method, params, request, reply)
        except RequestError as error:
            reply(_error(request, error.code, str(error)))

    def _notice(self, method: str, params: "Any") -> None:
        """Handle a notification. It is never answered, even if it is wrong."""
        if method == "notifications/cancelled" and isinstance(params, dict):
            request = params.get("requestId")
            job = self._jobs.get(request) if isinstance(request, str | int) else None
            if job is not None:
                job.cancel()

    def _answer(
        self, method: str, params: "dict[str, Any]", request: "Any", reply: "Reply"
    ) -> None:
        if method == "tools/call":
            self._start(params, request, reply)
        elif method == "tools/list":
            reply(_result(request, {"tools": TOOLS}))
        elif method == "ping":
            reply(_result(request, {}))
        elif method == "initialize":
            reply(_result(request, self._initialize(params)))
        else:
            raise RequestError(NO_METHOD, f"unknown method {method[:100]}")

    def _initialize(self, params: "dict[str, Any]") -> "dict[str, Any]":
        offered = params.get("protocolVersion")
        self._version = offered if offered in VERSIONS else NEWEST
        return {
            "protocolVersion": self._version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "session-memory", "version": __version__},
            "instructions": INSTRUCTIONS,
        }

    def _start(self, params: "dict[str, Any]", request: "Any", reply: "Reply") -> None:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in (*NAMES, HOOK):
            shown = name[:100] if isinstance(name, str) else "without a name"
            known = ", ".join(NAMES)
            raise RequestError(INVALID_PARAMS, f"unknown tool {shown}; there are {known}")
        if arguments is not None and not isinstance(arguments, dict):
            raise RequestError(INVALID_PARAMS, "arguments must be an object")
        if request in self._jobs:
            raise RequestError(INVALID_REQUEST, "a request with this id is still running")

        def finish(message: "Any") -> None:
            del self._jobs[request]
            reply(message)

        job = ToolJob(lambda: self._call(name, arguments or {}), finish, request)
        self._jobs[request] = job
        self._run(job)


class _Batch:
    """Gathers the answers to a batch, and sends them together when the last one is there."""

    def __init__(self, size: int, send: "Reply") -> None:
        self._missing = size
        self._send = send
        self._answers: list[Any] = []
        self._lock = Lock()

    def add(self, message: "Any") -> None:
        with self._lock:
            self._missing -= 1
            if message is not None:
                self._answers.append(message)
            is_last = not self._missing
        if is_last and self._answers:
            self._send(self._answers)


def _checked_id(value: "Any") -> "str | int":
    is_text = isinstance(value, str) and len(value) <= LONGEST_ID
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if not (is_text or is_number):
        raise RequestError(INVALID_REQUEST, "an id is a short text or an integer")
    checked: str | int = value
    return checked


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _result(request: "Any", result: "dict[str, Any]") -> "dict[str, Any]":
    return {"jsonrpc": "2.0", "id": request, "result": result}


def _error(request: "Any", code: int, message: str) -> "dict[str, Any]":
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}
