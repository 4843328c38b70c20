"""MCP over HTTP: the official client gets its answers, and nobody gets any without the token."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from late import Late
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.config import Config
from session_memory.mcp.asking import AskedMemory
from session_memory.mcp.catalog import NAMES
from session_memory.web.answering import Answering
from session_memory.web.app import make_app
from session_memory.web.live import Changes
from session_memory.web.mcp_endpoint import LONGEST, McpEndpoint
from session_memory.web.memories import Memories
from session_memory.web.site import Site

from .conftest import HERE, PORT, TOKEN
from .serving import served

httpx2 = Late("httpx2")
mcp_session = Late("mcp.client.session")
over_http = Late("mcp.client.streamable_http")

BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def program(demo_store: Path, tmp_path: Path) -> TestClient:
    def memory() -> Memory:
        return Memory(str(demo_store), Config(), create=False)

    endpoint = McpEndpoint(AskedMemory(str(demo_store), None, tmp_path))
    changes = Changes(memory)
    app = make_app(Answering(Memories(memory), changes, Site()), changes, TOKEN, PORT, endpoint)
    return TestClient(app, base_url=HERE)


def asked(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_a_program_with_the_token_is_answered(program: TestClient) -> None:
    answer = program.post("/mcp", json=asked("tools/list"), headers=BEARER)
    assert [tool["name"] for tool in answer.json()["result"]["tools"]][:2] == ["recall", "fix"]
    call = asked("tools/call", name="sessions", arguments={"repo": "*"})
    text = program.post("/mcp", json=call, headers=BEARER).json()["result"]["content"][0]["text"]
    assert "tidewatch" in text
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert program.post("/mcp", json=notice, headers=BEARER).status_code == 202
    assert program.get("/mcp", headers=BEARER).status_code == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Cookie": f"session-memory-{PORT}={TOKEN}"}, 401),
        ({**BEARER, "Origin": "https://evil.example"}, 403),
        ({**BEARER, "Host": "evil.example"}, 421),
    ],
)
def test_nobody_else_is(program: TestClient, headers: dict[str, str], status: int) -> None:
    assert program.post("/mcp", json=asked("ping"), headers=headers).status_code == status


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"1", b'{"jsonrpc": "2.0", "id": 1}'])
def test_rubbish_is_an_error_and_no_crash(program: TestClient, body: bytes) -> None:
    answer = program.post("/mcp", content=body, headers=BEARER)
    assert answer.status_code in (200, 202)
    assert not answer.content or "error" in answer.json()


def test_a_long_message_is_refused(program: TestClient) -> None:
    answer = program.post("/mcp", content=b" " * (LONGEST + 1), headers=BEARER)
    assert "at most" in json.dumps(answer.json())


def test_without_the_option_there_is_no_mcp(client: TestClient) -> None:
    assert client.get("/mcp").status_code == 404


def test_the_official_client_asks_over_http(demo_store: Path, tmp_path: Path) -> None:
    endpoint = McpEndpoint(AskedMemory(str(demo_store), None, tmp_path))

    async def ask(port: int, token: str) -> str:
        headers, address = {"Authorization": f"Bearer {token}"}, f"http://127.0.0.1:{port}/mcp"
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            over_http.streamable_http_client(address, http_client=http) as streams,
            mcp_session.ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            tools = await session.list_tools()
            assert len(tools.tools) == len(NAMES)
            found = await session.call_tool("recall", {"query": "tide table", "repo": "*"})
            return str(found.content[0])

    with served(demo_store, mcp=endpoint) as server:
        assert "tide" in anyio.run(ask, server.port, server.token).lower()
