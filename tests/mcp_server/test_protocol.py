"""The protocol: every request gets one answer, and nothing ends the connection."""

import json
import random
from typing import Any

import pytest

from mcp_server.conftest import Client
from session_memory.mcp.catalog import INSTRUCTIONS, TOOLS
from session_memory.mcp.protocol import MOST_BATCHED, NEWEST, VERSIONS

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


def quiet(name: str, arguments: dict[str, Any]) -> str:
    return f"{name} {sorted(arguments)}"


def request(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def code(answers: list[Any]) -> int:
    (answer,) = answers
    assert answer["jsonrpc"] == "2.0"
    return int(answer["error"]["code"])


@pytest.mark.parametrize("version", VERSIONS)
def test_known_versions_are_accepted(version: str) -> None:
    result = Client(quiet).ask("initialize", protocolVersion=version)["result"]
    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {}}


@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", None, 7, [], {}])
def test_the_newest_version_is_offered_for_an_unknown_one(version: Any) -> None:
    result = Client(quiet).ask("initialize", protocolVersion=version)["result"]
    assert result["protocolVersion"] == NEWEST


def test_the_instructions_are_short_and_say_when_to_call() -> None:
    assert len(INSTRUCTIONS) <= 300
    assert all(tool["name"] in INSTRUCTIONS for tool in TOOLS)


def test_every_tool_states_its_budget_and_reads_only() -> None:
    tools = Client(quiet).ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [
        *("recall", "fix", "show", "sessions", "why", "handoff", "cost")
    ]
    for tool in tools:
        assert tool["inputSchema"]["properties"]["tokens"]["default"] == 400
        assert tool["annotations"]["readOnlyHint"] is True
    # Some agents send all schemas with every request.
    assert len(json.dumps(tools)) < 4 * 1_400


def test_ping_is_answered_and_notifications_are_not() -> None:
    client = Client(quiet)
    assert client.ask("ping")["result"] == {}
    for method in ("notifications/initialized", "notifications/cancelled", "nonsense", "ping"):
        assert client.send({"jsonrpc": "2.0", "method": method}) == []
    assert client.send({"jsonrpc": "2.0", "id": 5, "result": {}}) == []


@pytest.mark.parametrize("method", ["server/discover", "prompts/list", "resources/list", "", "x"])
def test_an_unknown_method_is_an_error(method: str) -> None:
    assert code(Client(quiet).send(request(method))) == NO_METHOD


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"rubbish", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"NaN", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"9" * 10_000, PARSE_ERROR),
        (b"7", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b"[]", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', INVALID_PARAMS),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}',
            INVALID_PARAMS,
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cost","arguments":7}}',
            INVALID_PARAMS,
        ),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_malformed_line_is_an_error(line: bytes, expected: int) -> None:
    client = Client(quiet)
    assert code(client.send(line)) == expected
    assert client.ask("ping")["result"] == {}


def test_an_empty_line_is_ignored() -> None:
    assert Client(quiet).send(b"  \r") == []


def test_a_batch_is_answered_together_where_the_version_has_batches() -> None:
    client = Client(quiet, waits=True)
    batch = [request("ping", 1), {"jsonrpc": "2.0", "method": "x"}, request("y", 2), 7]
    assert code(client.send(batch)) == INVALID_REQUEST
    client.ask("initialize", protocolVersion="2025-03-26")
    (answers,) = client.send(batch)
    assert [one["id"] for one in answers] == [1, 2, None]
    assert client.send([{"jsonrpc": "2.0", "method": "x"}]) == []
    assert code(client.send([request("ping")] * (MOST_BATCHED + 1))) == INVALID_REQUEST
    assert client.send([request("tools/call", 3, name="cost"), request("ping", 4)]) == []
    client.run_jobs()
    assert [one["id"] for one in client.received[-1]] == [4, 3]


def test_a_cancelled_call_gets_no_answer() -> None:
    client = Client(quiet, waits=True)
    client.send(request("tools/call", "a", name="cost"))
    client.send(request("tools/call", "b", name="cost"))
    assert code(client.send(request("tools/call", "b", name="cost"))) == INVALID_REQUEST
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    for wrong in ({}, {"requestId": []}, {"requestId": "zzz"}, {"requestId": "a"}, 7):
        assert client.send({**cancelled, "params": wrong}) == []
    client.received.clear()
    client.run_jobs()
    assert [one["id"] for one in client.received] == ["b"]


def test_a_failure_inside_a_tool_is_an_answer_without_its_text() -> None:
    def fail(name: str, arguments: dict[str, Any]) -> str:
        raise RuntimeError("sk-secret in a log")

    result = Client(fail).ask("tools/call", name="cost")["result"]
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "session-memory failed: RuntimeError"}]


def fuzzed(chance: random.Random) -> bytes:
    """A request with rubbish in it: wrong types, strange texts, missing or cut parts."""
    odd: list[Any] = [None, True, -1, 0, 1.5, 10**30, "", "\ud800", "a\0b", "x" * 5_000, [], {}]
    odd += [[[]], {"a": {"b": 1}}, "%s%n", "'; drop table events", "../../etc/passwd", "*", "#"]
    odd += ["5b0c#1", '"', "repo:", "since:xyz", "2026-99", "(((", "-", "a OR b", "\u202e\n| x"]
    names = ["recall", "fix", "show", "sessions", "cost", "nope"]
    keys = ["query", "error", "command", "ref", "around", "repo", "file", "since", "uuid", "by"]
    keys += ["k", "tokens", "strange"]
    value: Any = request("tools/call", chance.randrange(100))
    name = chance.choice(names)
    own = next(
        (list(tool["inputSchema"]["properties"]) for tool in TOOLS if tool["name"] == name), []
    )
    asked = chance.sample(keys, 3) if chance.random() < 0.2 else own
    texts = [one for one in odd if isinstance(one, str)]
    some = chance.choice([odd, texts])
    arguments = {key: chance.choice(some) for key in asked if chance.random() < 0.6}
    arguments |= {key: 3 for key in ("k", "around") if key in arguments and some is texts}
    if some is texts:
        arguments.pop("tokens", None)
    value["params"] = {"name": name, "arguments": arguments}
    for _ in range(chance.randrange(2)):
        holder = chance.choice([value, value["params"]])
        holder[chance.choice([*holder, "extra"])] = chance.choice(odd)
        if not isinstance(value.get("params"), dict):
            break
    data = bytearray(json.dumps(value).encode())
    if chance.random() < 0.3:
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(32, 256)
    if chance.random() < 0.1:
        del data[chance.randrange(len(data)) :]
    return bytes(data)


@pytest.mark.only("sqlite")
def test_a_thousand_fuzzed_requests_never_end_the_server(client: Client) -> None:
    chance = random.Random(14)
    failed, reached = [], 0
    for _ in range(1_000):
        line = fuzzed(chance)
        answers = client.send(line)
        assert len(answers) <= 1
        for answer in answers:
            json.dumps(answer)
            content = answer.get("result", {}).get("content", [{"text": ""}])[0]["text"]
            assert len(content) <= 4 * 4_000
            if content.startswith("session-memory failed"):
                failed.append((content, line))
            reached += answer.get("result", {}).get("isError") is False
    assert not failed
    assert reached > 40
    assert client.ask("ping")["result"] == {}
