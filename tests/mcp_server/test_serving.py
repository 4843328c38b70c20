"""The process: it reads lines of any length, limits time, and ends with its client."""

import asyncio
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from forking import start_command

from session_memory.mcp import serving
from session_memory.mcp.catalog import NAMES
from session_memory.mcp.protocol import ToolJob
from session_memory.mcp.serving import ToolWorker, read_lines

pytestmark = pytest.mark.only("sqlite")


def lines_of(*pieces: bytes, longest: int = 20) -> list[bytes | None]:
    source, sink = os.pipe()
    for piece in pieces:
        os.write(sink, piece)
    os.close(sink)
    try:
        return list(read_lines(source, ToolWorker(), longest))
    finally:
        os.close(source)


def test_lines_may_come_in_pieces_and_the_last_may_lack_its_end() -> None:
    assert lines_of(b"ab", b"c\n\nde\nf") == [b"abc", b"", b"de", b"f"]
    assert lines_of() == []


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_read() -> None:
    assert lines_of(b"x" * 21 + b"\nok\n") == [None, b"ok"]
    assert lines_of(b"x" * 50) == [None]
    assert lines_of(b"x" * 20 + b"\n" + b"y" * 20) == [b"x" * 20, b"y" * 20]


def answered(work: Any) -> tuple[ToolJob, list[Any]]:
    messages: list[Any] = []
    return ToolJob(work, messages.append, 1), messages


def test_a_late_question_is_answered_and_later_ones_are_refused_until_it_ends() -> None:
    worker = ToolWorker(limit=0.02)
    may_end = Event()

    def stuck() -> str:
        may_end.wait()
        return "late"

    late, of_late = answered(stuck)
    waiting, of_waiting = answered(lambda: "never asked")
    worker.put(late)
    worker.put(waiting)
    while not (of_late and of_waiting):
        worker.answer_late()
    refused, of_refused = answered(lambda: "refused")
    worker.put(refused)
    texts = [one[0]["result"]["content"][0]["text"] for one in (of_late, of_waiting, of_refused)]
    assert [text[:20] for text in texts[:2]] == ["no answer within 0.0"] * 2
    assert "still running" in texts[2]
    may_end.set()
    while worker.is_busy:
        time.sleep(0.001)
    again, of_again = answered(lambda: "answer")
    worker.put(again)
    worker.finish()
    assert of_again[0]["result"]["content"][0]["text"] == "answer"
    assert len(of_late) == 1


REQUESTS = (
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "sessions"}},
    {"id": 4, "method": "server/discover"},
)


def test_the_command_answers_and_ends_when_its_input_ends(demo_store: str) -> None:
    asked = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in REQUESTS)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = start_command("mcp", "--store", demo_store, text=True, **pipes)
    answers, _ = server.communicate(asked, timeout=30)
    assert server.returncode == 0
    found = {one["id"]: one for one in map(json.loads, answers.splitlines())}
    assert set(found) == {1, 2, 3, 4}
    assert found[3]["result"]["isError"] is False
    assert found[4]["error"]["code"] == -32601


def test_the_server_ends_when_its_parent_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([7, 7, 1])
    monkeypatch.setattr(serving.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(serving, "IDLE_LOOK", 0.001)
    source, sink = os.pipe()
    # Another process still holds the pipe.
    assert list(read_lines(source, ToolWorker())) == []
    os.close(sink)
    os.close(source)


def test_the_official_client_connects_and_asks(demo_store: str, tidewatch: Path) -> None:
    # Importing it takes most of a second, and one test needs it.
    client, stdio = import_module("mcp"), import_module("mcp.client.stdio")
    words = ["mcp", "--store", demo_store]
    program = f"import sys, session_memory.start as s; sys.argv[1:] = {words}; s.main()"
    parameters = client.StdioServerParameters(
        command=sys.executable,
        args=["-c", program],
        env=dict(os.environ),
        cwd=tidewatch,
    )

    async def ask() -> tuple[Any, Any, Any]:
        async with (
            stdio.stdio_client(parameters) as (reading, writing),
            client.ClientSession(reading, writing) as session,
        ):
            hello = await session.initialize()
            tools = await session.list_tools()
            return hello, tools, await session.call_tool("recall", {"query": "station cache"})

    hello, tools, answer = asyncio.run(ask())
    assert hello.instructions
    assert len(tools.tools) == len(NAMES)
    assert "cache" in answer.content[0].text
