"""The bench with real agents: its script is played, and its checks see what is wrong."""

import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from session_memory.conformance.reply import ModelCall, Reply
from session_memory.conformance.sent import Sent
from session_memory.conformance.server import serving
from session_memory.conformance.wires import WIRES
from session_memory.conformance.wires.base import Wire
from session_memory.install.agents import NAMES

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from real_agents.agents import AGENTS  # noqa: E402
from real_agents.checks import CHECKS  # noqa: E402
from real_agents.prefix import broken_prefix  # noqa: E402
from real_agents.script import Script  # noqa: E402
from real_agents.settings_files import not_only_ours  # noqa: E402

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

PATHS = {
    "messages": "/v1/messages",
    "input": "/v1/responses",
    "contents": "/v1beta/models/x:streamGenerateContent",
}
CHAT = "/v1/chat/completions"


def path_of(wire: Wire) -> str:
    return CHAT if wire.name == "OpenAI chat" else PATHS[wire.conversation]


def body(wire: Wire, *said: str, **more: Any) -> bytes:
    turns = [{"role": "user", "content": text} for text in said]
    tools = [{"name": "shell"}, {"name": "other"}]
    values = {"model": "x", wire.conversation: turns, "tools": tools, "stream": True, **more}
    return json.dumps(values, separators=(",", ":")).encode()


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_the_model_plays_its_script_to_the_session_only(wire: Wire) -> None:
    call = ModelCall("shell", {"cmd": "ls"})
    script = Script("one", "shell", "the task", (Reply("yes", (call,)),))
    with serving() as model:
        model.play(script)
        answers = []
        for given in (
            body(wire, "a title"),
            body(wire, "the task"),
            body(wire, "the task", "more"),
        ):
            with urllib.request.urlopen(model.url + path_of(wire), given) as answer:
                answers.append(answer.read().decode())
    assert "Scripted" in answers[0] and "shell" not in answers[0]
    assert "shell" in answers[1] and "cmd" in answers[1]
    assert "The script" in answers[2]
    assert [sent.wire.name for sent in script.requests] == [wire.name] * 2
    assert broken_prefix(script.requests[1], script.requests[0]) is None


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_a_changed_prefix_is_seen(wire: Wire) -> None:
    def sent(*said: str, **more: Any) -> Sent:
        return Sent.of(wire, path_of(wire), body(wire, *said, **more))

    first = sent("one", "two")
    assert broken_prefix(sent("one", "two", "three"), first) is None
    assert broken_prefix(sent("one", "two"), first) is None
    assert broken_prefix(sent("one", "two!", "three"), first) == wire.conversation
    assert broken_prefix(sent("zero", "one", "two"), first) == wire.conversation
    assert broken_prefix(sent("one", "two", tools=[{"name": "shell"}]), first) == "tools"


def test_marks_for_the_cache_are_no_part_of_the_prompt() -> None:
    def sent(*contents: Any) -> Sent:
        turns = [{"role": "user", "content": content} for content in contents]
        raw = json.dumps({"messages": turns, "tools": []}, separators=(",", ":"))
        return Sent.of(WIRES[0], "/v1/messages", raw.encode())

    marked = [{"type": "text", "text": 'a "b"', "cache_control": {"type": "ephemeral"}}]
    assert broken_prefix(sent('a "b"', marked), sent(marked)) is None
    assert broken_prefix(sent("a b", marked), sent(marked)) == "messages"


def test_only_our_parts_may_go_from_settings() -> None:
    ours = {"hooks": {"Stop": [{"hooks": [{"command": "/bin/session-memory hook x end"}]}]}}
    used = json.dumps({"a": 1, "mcpServers": {"session-memory": {}, "b": {}}, **ours}).encode()
    left = {"a": 1, "mcpServers": {"b": {}}}
    assert not_only_ours("x.json", used, json.dumps(left).encode()) is None
    assert not_only_ours("x.json", used, b'{"mcpServers": {"b": {}}}') == "more than our parts went"
    assert not_only_ours("x.json", used, used) == "our parts are still there"
    toml = b'a = 1\n[mcp_servers.session-memory]\ncommand = "x"\n'
    assert not_only_ours("x.toml", toml, b"a = 1\n") is None
    assert "cannot be read" in (not_only_ours("x.toml", toml, b"a = \n") or "")


def test_every_agent_that_can_be_installed_is_driven() -> None:
    assert {agent.name for agent in AGENTS} == set(NAMES)


def test_the_page_of_the_agents_explains_every_check() -> None:
    page = (BENCHMARKS.parent / "docs" / "agents" / "README.md").read_text()
    legend = page[page.index("| check |") : page.index("Results of")]
    assert set(CHECKS) == set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]+)\|", legend, re.M)))
    )
    assert all(f"| {agent.title} | " in page for agent in AGENTS)
