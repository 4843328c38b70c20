"""The scripted model: what it says of tokens in each wire, and how it goes wrong."""

import http.client
import json
import socket
import urllib.error
import urllib.request
from typing import Any

import pytest

from session_memory.conformance.reply import (
    CUT,
    HANG,
    PAUSE,
    Ids,
    ModelCall,
    Reply,
    TokenCounts,
)
from session_memory.conformance.sent import Sent
from session_memory.conformance.server import Served, serving
from session_memory.conformance.wires import WIRES, wire_of
from session_memory.conformance.wires.base import Wire

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

USAGE = TokenCounts(
    uncached=900, cache_read=70, cache_write=30, cache_write_1h=7, output=50, reasoning=11
)
REPLY = Reply("Words of the model.", (ModelCall("run", {"command": "ls"}),), "It thinks.", USAGE)
PATHS = {
    "Anthropic messages": "/v1/messages",
    "OpenAI responses": "/v1/responses",
    "OpenAI chat": "/v1/chat/completions",
    "Gemini": "/v1beta/models/m-1:streamGenerateContent",
}
every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


def events(raw: bytes) -> list[dict[str, Any]]:
    lines = [line.removeprefix(b"data: ") for line in raw.splitlines() if line.startswith(b"data")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def usage_in(body: dict[str, Any]) -> dict[str, Any]:
    """The usage of an event or an answer, wherever the wire has it."""
    for place in (body, body.get("response") or {}, body.get("message") or {}):
        found = place.get("usage") or place.get("usageMetadata")
        if found:
            return dict(found)
    return {}


def input_and_output(usage: dict[str, Any]) -> tuple[int, int]:
    names = (
        ("input_tokens", "output_tokens"),
        ("prompt_tokens", "completion_tokens"),
        ("promptTokenCount", "candidatesTokenCount"),
    )
    sent, given = next(pair for pair in names if pair[0] in usage)
    return usage[sent], usage[given]


@every_wire
def test_streamed_and_whole_answers_report_the_same_tokens(wire: Wire) -> None:
    answer = wire.answer(REPLY, Ids("one"), "m-1")
    last = [usage for one in answer.events for usage in map(usage_in, events(one)) if usage][-1]
    counts = wire.counts(USAGE)
    assert input_and_output(last) == (counts["in"], counts["out"])
    assert input_and_output(usage_in(answer.whole)) == (counts["in"], counts["out"])


@every_wire
def test_no_token_counts_twice_or_not_at_all(wire: Wire) -> None:
    """What a wire calls input and output, taken apart, is what the script said."""
    counts, reported = wire.counts(USAGE), wire.reported(USAGE)
    includes_cache = wire.name != "Anthropic messages"
    assert counts["in"] - counts["cache_read"] * includes_cache == reported.uncached
    excludes_thoughts = wire.name == "Gemini"
    assert counts["out"] + counts["reasoning"] * excludes_thoughts == reported.output


@every_wire
def test_an_answer_has_the_words_the_call_and_an_id_of_its_own(wire: Wire) -> None:
    ids = Ids("one")
    answer, later = wire.answer(REPLY, ids, "m-1"), wire.answer(REPLY, ids, "m-1")
    text = json.dumps(answer.whole)
    assert "Words of the model." in text and "It thinks." in text and '"run"' in text
    assert answer.response_id in text and answer.response_id != later.response_id
    assert wire.answer(REPLY, Ids("two"), "m-1").response_id != answer.response_id
    assert wire_of(PATHS[wire.name]) is wire


class Always:
    """Answers every request alike."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.others: list[str] = []

    def serve(self, sent: Sent) -> Served:
        if self.reply.error:
            return Served(status=self.reply.error, error=sent.wire.failure(self.reply.error))
        return Served(sent.wire.answer(self.reply, Ids(), sent.model), self.reply.fault)


def body(wire: Wire) -> bytes:
    return json.dumps({"model": "m-1", wire.conversation: [], "stream": True}).encode()


@every_wire
@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_an_error_has_its_status_and_a_body(wire: Wire, status: int) -> None:
    with serving() as model:
        model.play(Always(Reply(error=status)))
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(model.url + PATHS[wire.name], body(wire))
    with caught.value as error:
        assert error.code == status
        assert str(status) in json.loads(error.read())["error"]["message"]


@every_wire
def test_a_cut_stream_ends_without_its_end(wire: Wire) -> None:
    with serving() as model:
        model.play(Always(Reply("A text of some length, for its middle.", fault=CUT)))
        with (
            urllib.request.urlopen(model.url + PATHS[wire.name], body(wire)) as answer,
            pytest.raises(http.client.IncompleteRead),
        ):
            answer.read()


def test_a_stream_pauses_until_it_may_go_on() -> None:
    wire = WIRES[0]
    with serving() as model:
        model.play(Always(Reply("A text of some length, for its middle.", fault=PAUSE)))
        with urllib.request.urlopen(model.url + PATHS[wire.name], body(wire)) as answer:
            assert model.hanging.wait(5)
            begun = answer.read1()
            model.going_on.set()
            whole = begun + answer.read()
    assert b"message_start" in begun and b"message_stop" not in begun
    assert b"message_stop" in whole


def test_a_stream_hangs_until_the_agent_goes_away() -> None:
    wire = WIRES[0]
    with serving() as model:
        model.play(Always(Reply("A text of some length, for its middle.", fault=HANG)))
        host, port = model.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as agent:
            head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body(wire))}\r\n"
            agent.sendall(head.encode() + b"\r\n" + body(wire))
            assert model.hanging.wait(5)
            assert b"message_start" in agent.recv(65536)
