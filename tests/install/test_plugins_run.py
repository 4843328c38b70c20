"""The plugin of opencode and the extension of pi do what agents expect, as Node runs them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from session_memory.install.agent import InstallPlace, Request
from session_memory.install.agents import setup_of
from session_memory.mcp.catalog import NAMES

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")

# Answers hooks with what they were told, and calls of tools with their arguments.
MEMORY = f"""#!{sys.executable} -SE
import json, sys
words = sys.argv[1:]
if words[0] == "hook":
    told = json.load(sys.stdin)
    if words[2] == "end":
        with open("ended", "a") as file:
            print(json.dumps([words, told]), file=file)
    if told.get("command") != "unknown":
        print(json.dumps({{"additionalContext": json.dumps([words, told])}}))
else:
    assert words == ["mcp", "--store", "/x y.db"], words
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["method"] == "initialize":
            result = {{}}
        elif asked["params"]["arguments"].get("query") == "die":
            sys.exit(1)
        else:
            text = json.dumps(asked["params"])
            result = {{"content": [{{"type": "text", "text": text}}],
                      "isError": asked["params"]["name"] == "cost"}}
        print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""
OPENCODE = """
import { SessionMemory } from "./plugin.mjs";
const hooks = await SessionMemory({ directory: process.cwd() });
const after = async (tool, command, exit) => {
  const output = { output: "boom", metadata: { exit } };
  const input = { tool, sessionID: "s", callID: "c", args: { command } };
  await hooks["tool.execute.after"](input, output);
  return output.output;
};
const parts = [{ id: "prt_1", sessionID: "s", messageID: "m", type: "text", text: "mend it" }];
await hooks["chat.message"]({ sessionID: "s" }, { parts });
await hooks.event({ event: { type: "session.updated", properties: { sessionID: "t" } } });
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } });
console.log(JSON.stringify({
  failed: await after("bash", "make", 2), passed: await after("bash", "make", 0),
  other: await after("edit", "make", 1), unknown: await after("bash", "unknown", 1), parts,
}));
"""
PI = """
import extension from "./plugin.mjs";
const tools = {}, on = {};
extension({
  registerTool: (tool) => (tools[tool.name] = tool),
  on: (name, run) => (on[name] = run),
});
const ctx = { cwd: process.cwd(), sessionManager: { getSessionId: () => "s" } };
const use = (name, input) =>
  tools[name]
    .execute("1", input, null, null, ctx)
    .then((result) => result.content[0].text, (error) => `! ${error.message}`);
const content = [{ type: "text", text: "boom exited with code 7" }];
const failed = (command, isError) =>
  on.tool_result({ toolName: "bash", isError, input: { command }, content }, ctx);
on.session_start({ reason: "resume" });
const first = await on.before_agent_start({ prompt: "mend it" }, ctx);
const second = await on.before_agent_start({ prompt: "again" }, ctx);
const answers = { first, second,
  failed: await failed("make", true), passed: await failed("make", false),
  unknown: await failed("unknown", true), recall: await use("recall", { query: "x" }),
  died: await use("recall", { query: "die" }), again: await use("recall", { query: "y" }),
  cost: await use("cost", {}), tools: Object.keys(tools) };
answers.ended = await on.session_shutdown({}, ctx);
console.log(JSON.stringify(answers));
"""


def run(folder: Path, agent: str, driver: str) -> Any:
    program = folder / "bin" / "session-memory"
    program.parent.mkdir()
    program.write_text(MEMORY)
    program.chmod(0o755)
    request = Request((str(program), "--store", "/x y.db"), tuple(setup_of(agent).events))
    place = InstallPlace(None, {"HOME": str(folder)})
    (text,) = [
        file.parts[0].text
        for file in setup_of(agent).files(place, request)
        if file.path.suffix in (".js", ".ts")
    ]
    (folder / "plugin.mjs").write_text(text)
    (folder / "driver.mjs").write_text(driver)
    done = subprocess.run(
        [str(NODE), "driver.mjs"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(text: str, agent: str, event: str) -> dict[str, Any]:
    """What the hook was told."""
    words, payload = json.loads(text)
    assert words == ["hook", agent, event, "--store", "/x y.db"]
    return payload


def test_opencode_gives_failed_commands_and_prompts_to_the_hook(tmp_path: Path) -> None:
    seen = run(tmp_path, "opencode", OPENCODE)
    output, _, injected = seen["failed"].partition("\n")
    assert output == "boom"
    place = {"session_id": "s", "cwd": str(tmp_path)}
    command = {"tool": "bash", "command": "make", "output": "boom", "exit": 2}
    assert told(injected, "opencode", "failure") == {**place, **command}
    assert [seen[name] for name in ("passed", "other", "unknown")] == ["boom"] * 3
    first, second = seen["parts"]
    assert second["id"] > first["id"]
    assert told(second["text"], "opencode", "prompt") == {**place, "prompt": "mend it"}
    [ended] = (tmp_path / "ended").read_text().splitlines()
    assert told(ended, "opencode", "end") == place


def test_pi_has_the_tools_and_gives_failed_commands_to_the_hook(tmp_path: Path) -> None:
    seen = run(tmp_path, "pi", PI)
    assert seen["tools"] == list(NAMES)
    assert json.loads(seen["recall"]) == {"name": "recall", "arguments": {"query": "x"}}
    # A server that died is started again by the next question.
    assert seen["died"] == "! session-memory ended"
    assert json.loads(seen["again"])["arguments"] == {"query": "y"}
    assert seen["cost"].startswith("! ")
    place = {"session_id": "s", "cwd": str(tmp_path)}
    injected = told(seen["failed"]["content"][1]["text"], "pi", "failure")
    assert injected == {**injected, **place, "command": "make", "exit": 7}
    assert "passed" not in seen and "unknown" not in seen
    start, prompt = seen["first"]["message"]["content"].split("\n")
    assert told(start, "pi", "start") == {**place, "source": "resume"}
    assert told(prompt, "pi", "prompt") == {**place, "prompt": "mend it"}
    assert told(seen["second"]["message"]["content"], "pi", "prompt")["prompt"] == "again"
    assert told(seen["ended"], "pi", "end") == place
