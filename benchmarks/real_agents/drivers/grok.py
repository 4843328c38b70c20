from typing import Any

from real_agents.agent import MODEL, Agent, Call, Place

_CONFIG = """\
[models]
default = "script"

# The model of the bench.
[model.script]
model = "{model}"
base_url = "{url}/v1"
name = "Script"
env_key = "SCRIPT_KEY"
context_window = 200000
max_completion_tokens = 8192

[telemetry]
enabled = false

[mcp_servers.other]
command = "true"
args = []
"""


class Grok(Agent):
    name, title, program = "grok", "Grok Build", "grok"
    package = "@xai-official/grok"
    reads = "claude"

    def configure(self, place: Place) -> None:
        place.write(".grok/config.toml", _CONFIG.format(model=MODEL, url=place.url))

    def environment(self, place: Place) -> dict[str, str]:
        return {"SCRIPT_KEY": "scripted"}

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "-m", "script", "--always-approve", "--trust"]

    def shell(self, command: str) -> Call:
        return Call("run_terminal_command", {"command": command, "description": "Run a check"})

    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        return Call("use_tool", {"tool_name": f"{server}__{tool}", "tool_input": arguments})
